import { frameSamples, framesPerSecond, wideRate } from './clock.ts';
import { StreamResampler } from './stream-resampler.ts';

const silences = [new Int16Array(frameSamples), new Int16Array(wideRate / framesPerSecond)] as const;

/** Silence of the same length as a frame; not to be written to. */
export function silenceLike({ length }: Int16Array): Int16Array {
  return length === frameSamples ? silences[0] : silences[1];
}

/** Samples per second of a frame. */
export function rateOf(frame: Int16Array): number {
  return frame.length * framesPerSecond;
}

/**
 * Brings the frames of one stream from whatever rate each has to whatever rate is asked for; those that have it pass as they are.
 * A leg changes its rate with its codec, in the middle of a call, and what hears it goes on.
 */
export class FrameResampler {
  #from = 0;
  #to = 0;
  #resampler: StreamResampler | null = null;

  /** The frame at this rate; the very same one when that is its own. */
  bring(frame: Int16Array, to: number): Int16Array {
    const from = rateOf(frame);
    if (from === to) return frame;
    if (!this.#resampler || from !== this.#from || to !== this.#to) this.#resampler = new StreamResampler(from, to);
    this.#from = from;
    this.#to = to;
    return this.#resampler.push(frame);
  }

  /** Another stream begins: nothing of the one before is heard in it. */
  restart(): void {
    this.#resampler = null;
  }
}

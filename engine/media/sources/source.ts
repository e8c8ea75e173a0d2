import type { FrameSource } from '../audio-leg.ts';
import { framesPerSecond, sampleRate } from '../clock.ts';
import { FrameResampler, rateOf } from '../frame-resampler.ts';

/** What is to be played cannot be found, read or understood. */
export class FileNotFoundError extends Error {
  constructor(spec: string, reason = 'not found') {
    super(`${spec.slice(0, 200)}: ${reason}`);
    this.name = 'FileNotFoundError';
  }
}

/** Samples of some material at one rate, in any portions. */
export interface SampleReader {
  /** Writes samples at `from` to the end of `out` and returns how many; fewer than there is room for only at the end. */
  pull(out: Int16Array, from: number): number;
  /** Length from here to the end in samples; absent when endless or unknown. */
  length?: number;
  /** Where reading starts, in samples from the start of the material. */
  start?: number;
}

/**
 * A reader as a leg wants it: whole frames, the last one filled up with silence. Frames of another rate than the reader's are
 * resampled: who listens may have changed since it was opened.
 */
export class ReaderSource implements FrameSource {
  readonly durationMs?: number;
  readonly rate: number;
  position: number;
  readonly #reader: SampleReader;
  #own: Int16Array | null = null;
  #resampler: FrameResampler | null = null;

  constructor(reader: SampleReader, rate = sampleRate) {
    this.#reader = reader;
    this.rate = rate;
    this.position = reader.start ?? 0;
    if (reader.length !== undefined) this.durationMs = Math.round((reader.length * 1000) / rate);
  }

  read(frame: Int16Array): boolean {
    if (rateOf(frame) === this.rate) return this.#fill(frame);
    this.#own ??= new Int16Array(this.rate / framesPerSecond);
    this.#resampler ??= new FrameResampler();
    if (!this.#fill(this.#own)) return false;
    frame.set(this.#resampler.bring(this.#own, rateOf(frame)));
    return true;
  }

  #fill(frame: Int16Array): boolean {
    const count = this.#reader.pull(frame, 0);
    if (count === 0) return false;
    if (count < frame.length) frame.fill(0, count);
    this.position += count;
    return true;
  }
}

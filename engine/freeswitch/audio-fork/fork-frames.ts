import { frameSamples, sampleRate } from '../../media/clock.ts';
import { StreamResampler } from '../../media/stream-resampler.ts';
import { saturate } from '../../media/tones.ts';
import type { ForkMix } from './arguments.ts';

const silence = new Int16Array(frameSamples);

/** Makes what a fork sends of what a leg says and hears: little-endian 16-bit frames of 20 ms (protocol page §10). */
export class ForkFrames {
  readonly #mix: ForkMix;
  readonly #left: StreamResampler;
  readonly #right: StreamResampler;
  readonly #sum = new Int16Array(frameSamples);

  constructor(mix: ForkMix, rate: number) {
    this.#mix = mix;
    this.#left = new StreamResampler(sampleRate, rate);
    this.#right = new StreamResampler(sampleRate, rate);
  }

  /** The next frame; silence of the same length when nothing shall be heard. */
  frame(said: Int16Array, heard: Int16Array): Buffer {
    if (this.#mix === 'stereo') return interleave(this.#left.push(said), this.#right.push(heard));
    return bytesOf(this.#left.push(this.#mix === 'mixed' ? this.#mixed(said, heard) : said));
  }

  /** The next frame as silence. */
  silence(): Buffer {
    return this.frame(silence, silence);
  }

  #mixed(said: Int16Array, heard: Int16Array): Int16Array {
    for (let i = 0; i < frameSamples; i++) this.#sum[i] = saturate((said[i] ?? 0) + (heard[i] ?? 0));
    return this.#sum;
  }
}

function bytesOf(samples: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length * 2);
  for (let i = 0; i < samples.length; i++) bytes.writeInt16LE(samples[i] ?? 0, i * 2);
  return bytes;
}

function interleave(left: Int16Array, right: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(left.length * 4);
  for (let i = 0; i < left.length; i++) {
    bytes.writeInt16LE(left[i] ?? 0, i * 4);
    bytes.writeInt16LE(right[i] ?? 0, i * 4 + 2);
  }
  return bytes;
}

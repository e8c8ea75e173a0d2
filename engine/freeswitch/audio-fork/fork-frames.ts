import { FrameResampler, silenceLike } from '../../media/frame-resampler.ts';
import { saturate } from '../../media/tones.ts';
import type { ForkMix } from './arguments.ts';

/** Makes what a fork sends of what a leg says and hears: little-endian 16-bit frames of 20 ms (protocol page §10). */
export class ForkFrames {
  readonly #mix: ForkMix;
  readonly #rate: number;
  readonly #left = new FrameResampler();
  readonly #right = new FrameResampler();
  #sum = new Int16Array();

  constructor(mix: ForkMix, rate: number) {
    this.#mix = mix;
    this.#rate = rate;
  }

  /** The next frame. */
  frame(said: Int16Array, heard: Int16Array): Buffer {
    const rate = this.#rate;
    if (this.#mix === 'stereo') return interleave(this.#left.bring(said, rate), this.#right.bring(heard, rate));
    return bytesOf(this.#left.bring(this.#mix === 'mixed' ? this.#mixed(said, heard) : said, rate));
  }

  /** The next frame as silence, in place of this one. */
  silence(said: Int16Array): Buffer {
    return this.frame(silenceLike(said), silenceLike(said));
  }

  #mixed(said: Int16Array, heard: Int16Array): Int16Array {
    if (this.#sum.length !== said.length) this.#sum = new Int16Array(said.length);
    for (let i = 0; i < said.length; i++) this.#sum[i] = saturate((said[i] ?? 0) + (heard[i] ?? 0));
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

import type { Kernel } from './sources/resample.ts';
import { kernelFor } from './sources/resample.ts';

/**
 * Brings a stream of 16-bit samples from one rate to another as it arrives, filtered, with a delay of under 2 ms. After
 * n samples exactly ceil(n × to / from) have been given, so 20 ms frames keep their size at every rate that is a multiple
 * of 50, and 11 025 Hz alternates between 220 and 221.
 */
export class StreamResampler {
  readonly #from: number;
  readonly #to: number;
  readonly #kernel: Kernel | null;
  #history: Int16Array;
  #taken = 0;
  #given = 0;

  /** Rates in samples per second. */
  constructor(from: number, to: number) {
    this.#from = from;
    this.#to = to;
    this.#kernel = from === to ? null : kernelFor(from, to);
    this.#history = new Int16Array(this.#kernel ? 2 * this.#kernel.half : 0);
  }

  /** Takes the next samples and gives what they make at the other rate; at equal rates the very same samples. */
  push(samples: Int16Array): Int16Array {
    if (!this.#kernel) return samples;
    const kept = this.#history.length;
    const input = new Int16Array(kept + samples.length);
    input.set(this.#history);
    input.set(samples, kept);
    const start = this.#taken - kept; // stream index of input[0]
    this.#taken += samples.length;
    const out = new Int16Array(Math.ceil((this.#taken * this.#to) / this.#from) - this.#given);
    for (let i = 0; i < out.length; i++) out[i] = this.#sample(this.#kernel, input, start, this.#given + i);
    this.#given += out.length;
    this.#history = input.slice(input.length - kept);
    return out;
  }

  /** The output sample of this index, `half` input samples late so that everything it needs is there. */
  #sample({ phases, half }: Kernel, input: Int16Array, start: number, index: number): number {
    const position = (index * this.#from) / this.#to;
    let whole = Math.floor(position);
    let phase = Math.round((position - whole) * phases.length);
    if (phase === phases.length) {
      phase = 0;
      whole += 1;
    }
    const weights = phases[phase];
    const first = whole - 2 * half + 1 - start;
    let sum = 0;
    if (weights) for (let tap = 0; tap < weights.length; tap++) sum += (weights[tap] ?? 0) * (input[first + tap] ?? 0);
    return sum > 32767 ? 32767 : sum < -32768 ? -32768 : Math.round(sum);
  }
}

/** Taps for each new sample: up to 3400 of 4000 Hz is kept as it is, and what would fold back below that is 60 dB down. */
const TAPS_A_STEP = 32;

/** Takes sound to a fraction of its rate: one sample of so many stays, and what the new rate cannot carry is filtered out before. */
export class Decimator {
  readonly #step: number;
  readonly #taps: Float64Array;
  /** The newest samples, twice behind one another, so that they can be read without a break. */
  readonly #recent: Float64Array;
  #at = 0;
  #until = 0;

  /** @param step the old rate in new ones, a whole number of at least 2 */
  constructor(step: number) {
    this.#step = step;
    this.#taps = lowPass(step * TAPS_A_STEP + 1, 0.48 / step);
    this.#recent = new Float64Array(2 * this.#taps.length);
    this.#until = step;
  }

  /** Takes a sample of 16 bits. Gives the next one of the new rate when it is due. */
  push(sample: number): number | undefined {
    const { length } = this.#taps;
    this.#recent[this.#at] = sample;
    this.#recent[this.#at + length] = sample;
    this.#at = (this.#at + 1) % length;
    this.#until -= 1;
    if (this.#until > 0) return undefined;
    this.#until = this.#step;
    let sum = 0;
    for (let i = 0; i < length; i++) sum += (this.#taps[i] ?? 0) * (this.#recent[this.#at + i] ?? 0);
    return Math.max(-32_768, Math.min(32_767, Math.round(sum)));
  }
}

/** A sinc under a Blackman window; `edge` is where it begins to fall, in parts of the old rate. Its taps sum up to 1. */
const lowPass = (length: number, edge: number): Float64Array => {
  const middle = (length - 1) / 2;
  const taps = Float64Array.from({ length }, (_, at) => {
    const x = at - middle;
    const sinc = x === 0 ? 2 * edge : Math.sin(2 * Math.PI * edge * x) / (Math.PI * x);
    const turn = (2 * Math.PI * at) / (length - 1);
    return sinc * (0.42 - 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn));
  });
  const sum = taps.reduce((all, tap) => all + tap, 0);
  return taps.map(tap => tap / sum);
};

import { MOST_PEAKS } from '#contract/recording';

/** A peak stands for 10 ms at least, so that a short file has no more of them than can be drawn. */
const LEAST_SAMPLES = 80;

/** The loudest sample of each stretch of a file, 0 to 1, in at most `MOST_PEAKS` stretches. */
export class Peaks {
  readonly #stretch: number;
  readonly #peaks: number[] = [];
  #in = 0;
  #loudest = 0;

  /** @param samples how many will come */
  constructor(samples: number) {
    this.#stretch = Math.max(LEAST_SAMPLES, Math.ceil(samples / MOST_PEAKS));
  }

  /** The next sample, 16 bits. */
  take(sample: number): void {
    this.#loudest = Math.max(this.#loudest, Math.abs(sample));
    this.#in += 1;
    if (this.#in === this.#stretch) this.#note();
  }

  /** All of them; nothing may be taken after. */
  all(): number[] {
    if (this.#in > 0) this.#note();
    return this.#peaks;
  }

  #note(): void {
    this.#peaks.push(Math.round((this.#loudest / 32_768) * 1000) / 1000);
    this.#in = 0;
    this.#loudest = 0;
  }
}

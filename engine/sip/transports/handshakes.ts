/**
 * So many handshakes of TLS may begin a second, and so many at once after a quiet time. Each costs up to 2 ms of the processor,
 * most of it for the signature: all that may go on take less than half of one, and the phones of an office come back at once.
 */
const OF_ONE = { perSecond: 20, atOnce: 200 };
const OF_ALL = { perSecond: 200, atOnce: 1000 };
/** Buckets of sources that are looked through for full ones, which nobody need remember. */
const MOST_BUCKETS = 5000;

/** What is left of an allowance, and when that was counted, in ms. */
interface Bucket {
  left: number;
  counted: number;
}

/** Bounds the rate of TLS handshakes, of each source and in all, so that a flood of them leaves calls alone (token buckets). */
export class Handshakes {
  readonly #now: () => number;
  readonly #each: boolean;
  readonly #sources = new Map<string, Bucket>();
  #all: Bucket;

  /**
   * @param each whether sources have a bound of their own
   * @param now ms of a clock that only goes forward
   */
  constructor(each = true, now: () => number = () => performance.now()) {
    this.#each = each;
    this.#now = now;
    this.#all = { left: OF_ALL.atOnce, counted: now() };
  }

  /**
   * Whether another one may begin from there.
   * @param known somebody there has proved who he is, whom a flood from elsewhere does not keep out
   */
  begin(source: string, known: boolean): boolean {
    const now = this.#now();
    const fresh = { left: OF_ONE.atOnce, counted: now };
    const one = this.#each ? refilled(this.#sources.get(source) ?? fresh, OF_ONE, now) : fresh;
    const all = refilled(this.#all, OF_ALL, now);
    if (one.left < 1 || (all.left < 1 && !known)) return false;
    this.#all = { ...all, left: Math.max(0, all.left - 1) };
    if (this.#each) this.#sources.set(source, { ...one, left: one.left - 1 });
    if (this.#sources.size > MOST_BUCKETS) this.#forgetFull(now);
    return true;
  }

  /** How many sources are remembered. */
  get size(): number {
    return this.#sources.size;
  }

  /** What remains is no more than what may begin in the time in which a bucket fills up. */
  #forgetFull(now: number): void {
    for (const [source, bucket] of this.#sources)
      if (refilled(bucket, OF_ONE, now).left >= OF_ONE.atOnce) this.#sources.delete(source);
  }
}

const refilled = ({ left, counted }: Bucket, rate: typeof OF_ONE, now: number): Bucket => ({
  left: Math.min(rate.atOnce, left + ((now - counted) / 1000) * rate.perSecond),
  counted: now,
});

import { timestampDistance } from '../../engine/media/rtp.ts';

const TICKS_PER_MS = 8;
const BIN_MS = 0.25;
/** Further from the first packet than this is counted at the edge. */
const RANGE_MS = 500;
const ON_TIME_MS = 5;

/**
 * How punctual the packets of a stream are. When one should have come is known in the end only: the beat of the stream is the median
 * of all its packets, so that a slow beginning spoils nothing.
 */
export class Punctuality {
  readonly #bins = new Uint32Array((2 * RANGE_MS) / BIN_MS);
  #first: { at: number; timestamp: number } | undefined;
  #count = 0;

  /** A packet came; milliseconds, and its RTP timestamp at 8 kHz. */
  came(at: number, timestamp: number): void {
    this.#first ??= { at, timestamp };
    const late = at - this.#first.at - timestampDistance(timestamp, this.#first.timestamp) / TICKS_PER_MS;
    const bin = Math.floor((late + RANGE_MS) / BIN_MS);
    const within = Math.min(this.#bins.length - 1, Math.max(0, bin));
    this.#bins[within] = (this.#bins[within] ?? 0) + 1;
    this.#count += 1;
  }

  /** Begins anew. */
  restart(): void {
    this.#bins.fill(0);
    this.#first = undefined;
    this.#count = 0;
  }

  /** How many packets came, and how many of them within 5 ms of their time. */
  judge(): { packets: number; onTime: number } {
    let [median, below] = [0, 0];
    while (median < this.#bins.length && below + (this.#bins[median] ?? 0) <= this.#count / 2)
      below += this.#bins[median++] ?? 0;
    const reach = ON_TIME_MS / BIN_MS;
    const near = this.#bins.subarray(Math.max(0, median - reach), median + reach + 1);
    return { packets: this.#count, onTime: near.reduce((sum, one) => sum + one, 0) };
  }
}

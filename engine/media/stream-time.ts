import { timestampDistance } from './rtp.ts';

/** Brings the timestamps of one stream from the clock of its codec to that of the media server, across their wrap. */
export class StreamTime {
  /** Ticks of the codec's clock in one sample of ours. */
  ratio = 1;
  #last: number | null = null;
  #total = 0;

  /** The timestamp in samples of ours. */
  at(timestamp: number): number {
    this.#total += this.#last === null ? timestamp : timestampDistance(timestamp, this.#last);
    this.#last = timestamp;
    return Math.floor(this.#total / this.ratio) >>> 0;
  }

  /** Another stream has begun. */
  restart(): void {
    this.#last = null;
    this.#total = 0;
  }
}

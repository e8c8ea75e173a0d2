import { performance } from 'node:perf_hooks';
import { SAMPLE_RATE } from './wav.ts';

const PER_MS = SAMPLE_RATE / 1000;
/** A stream that drifts this far from the clock on the wall has jumped, rather than been read late by a busy machine. */
const MOST_DRIFT = 1000 * PER_MS;
/** Within this time of the last packet the next one is merely late. */
const LATE_MS = 100;
const KEPT = 15 * 60 * SAMPLE_RATE;

/**
 * What a phone has heard, on the clock of the wall: packets stand where their RTP timestamps say, relative to the arrival of
 * the stream's first packet, and silence is where nothing came. Positions and counts are samples at 8 kHz.
 */
export class Hearing {
  readonly started = performance.now();
  #samples = new Int16Array(SAMPLE_RATE * 10);
  /** Position of #samples[0]: grows when the oldest part is forgotten. */
  #origin = 0;
  #end = 0;
  /** Where the latest packet ended, and when it came. */
  #latest = { position: 0, at: performance.now() };
  #stream: { ssrc: number; offset: number; timestamp: number } | undefined;

  /** Takes one decoded packet that arrived at `at` (performance.now()). */
  add(samples: Int16Array, ssrc: number, timestamp: number, at: number): void {
    const wall = Math.round((at - this.started) * PER_MS);
    const position = this.#position(ssrc, timestamp, wall);
    this.#reserve(position + samples.length);
    this.#latest = { position: position + samples.length, at };
    if (position < this.#origin) return;
    this.#samples.set(samples, position - this.#origin);
    this.#end = Math.max(this.#end, position + samples.length);
  }

  /** Where the next packet is expected. */
  get position(): number {
    return this.#latest.position;
  }

  /** The latest `ms` of the timeline; silence where nothing has come lately. */
  last(ms: number): Int16Array {
    const quiet_ms = performance.now() - this.#latest.at;
    const end = this.#latest.position + (quiet_ms < LATE_MS ? 0 : Math.round(quiet_ms * PER_MS));
    return this.slice(end - ms * PER_MS, end);
  }

  /** Everything from position to position, silence where nothing is known. */
  slice(from: number, to: number): Int16Array {
    const wanted = new Int16Array(Math.max(0, Math.round(to - from)));
    const first = Math.max(from, this.#origin);
    const known = this.#samples.subarray(first - this.#origin, Math.max(first, Math.min(to, this.#end)) - this.#origin);
    wanted.set(known.subarray(0, wanted.length), first - from);
    return wanted;
  }

  /** All that was heard and is still kept, up to the last packet. */
  all(): Int16Array {
    return this.slice(this.#origin, this.#end);
  }

  #position(ssrc: number, timestamp: number, wall: number): number {
    const stream = this.#stream;
    if (stream?.ssrc === ssrc) {
      const position = stream.offset + ((timestamp - stream.timestamp) | 0);
      if (Math.abs(position - wall) <= MOST_DRIFT) return position;
    }
    const offset = Math.max(wall, 0);
    this.#stream = { ssrc, offset, timestamp };
    return offset;
  }

  #reserve(end: number): void {
    if (end - this.#origin > KEPT) this.#forget(KEPT / 2);
    if (end - this.#origin <= this.#samples.length) return;
    const larger = new Int16Array((end - this.#origin) * 2);
    larger.set(this.#samples);
    this.#samples = larger;
  }

  #forget(count: number): void {
    this.#samples.copyWithin(0, count);
    this.#samples.fill(0, Math.max(0, this.#samples.length - count));
    this.#origin += count;
  }
}

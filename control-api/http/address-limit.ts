import { isIP } from 'node:net';
import type { Rate } from './rate.ts';

/** Buckets of addresses that were quiet for so long are dropped (accounts-and-plumbing 3), in milliseconds. */
const IDLE_MS = 600_000;
/** More addresses at once are an attack; those that were quiet longest are forgotten. */
const MOST_ADDRESSES = 100_000;

interface Bucket {
  tokens: number;
  /** When the tokens were counted, in milliseconds of the clock. */
  counted: number;
}

/** Neighbours of one IPv6 network are one client: providers hand out a /64 or more. */
const bucketOf = (address: string): string => {
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? [];
  const [front, back] = [head.split(':').filter(Boolean), tail.split(':').filter(Boolean)];
  const zeros = address.includes('::') ? Array<string>(8 - front.length - back.length).fill('0') : [];
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
};

/** Token buckets by client address, in the memory of this process (accounts-and-plumbing 3). */
export class AddressLimit {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #swept: number;

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    [this.#rate, this.#now, this.#swept] = [rate, now, now()];
  }

  /** Takes a token. Returns 0, or when there is none how many seconds until the next. */
  take(address: string): number {
    const now = this.#now();
    this.#sweep(now);
    const key = bucketOf(address);
    const { tokens, counted } = this.#buckets.get(key) ?? { tokens: this.#rate.burst, counted: now };
    const present = Math.min(this.#rate.burst, tokens + ((now - counted) / 1000) * this.#rate.per_second);
    const left = present >= 1 ? present - 1 : present;
    // Written anew, so that the map stays in the order of last use.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: left, counted: now });
    return present >= 1 ? 0 : (1 - present) / this.#rate.per_second;
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #sweep(now: number): void {
    const due = now - this.#swept >= IDLE_MS / 10;
    if (!due && this.#buckets.size < MOST_ADDRESSES) return;
    this.#swept = now;
    for (const [key, { counted }] of this.#buckets) {
      if (now - counted < IDLE_MS && this.#buckets.size < MOST_ADDRESSES) return;
      this.#buckets.delete(key);
    }
  }
}

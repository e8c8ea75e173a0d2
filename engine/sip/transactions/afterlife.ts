import type { Hop } from '../hop.ts';

/** What is left of a server transaction that has said everything. */
export interface Remains {
  /** The answer as it was sent; none where repeats are only to be swallowed. */
  answer: Buffer | undefined;
  /** Where it goes. */
  hop: Hop;
  /** For how long the request may still be repeated. */
  ms: number;
}

/**
 * Server transactions that are over for their users, by key: until the last repeat of their request may have come (timers I, J
 * and L of RFC 3261 17.2 and RFC 6026 7.1). Nothing of a call is kept but its last answer, for at forty calls a second
 * thousands lie here.
 */
export class Afterlife {
  readonly #known = new Map<string, { remains: Remains; timer: NodeJS.Timeout }>();

  get size(): number {
    return this.#known.size;
  }

  keep(key: string, remains: Remains): void {
    this.#known.set(key, { remains, timer: setTimeout(this.#forget, remains.ms, key) });
  }

  get(key: string): Remains | undefined {
    return this.#known.get(key)?.remains;
  }

  clear(): void {
    for (const { timer } of this.#known.values()) clearTimeout(timer);
    this.#known.clear();
  }

  readonly #forget = (key: string): void => void this.#known.delete(key);
}

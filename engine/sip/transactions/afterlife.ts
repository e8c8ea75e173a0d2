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

/** What may lie here at a time; the oldest makes room. */
const MOST = 50_000;
const MOST_BYTES = 64 * 2 ** 20;

/** The answer as text: a buffer would be a piece of Node's pool and keep the 8 KB around it, ten others' messages, too. */
interface Kept {
  answer: string | undefined;
  hop: Hop;
  timer: NodeJS.Timeout;
}

/**
 * Server transactions that are over for their users, by key: until the last repeat of their request may have come (timers I, J
 * and L of RFC 3261 17.2 and RFC 6026 7.1). Nothing of a call is kept but its last answer, for at forty calls a second
 * thousands lie here. A flood that is answered (481 to everything) fills it and no more.
 */
export class Afterlife {
  readonly #known = new Map<string, Kept>();
  #bytes = 0;

  get size(): number {
    return this.#known.size;
  }

  /** Keeps what is left of one, until its time is over or newer ones need the room. */
  keep(key: string, { answer, hop, ms }: Remains): void {
    this.#forget(key);
    this.#known.set(key, { answer: answer?.toString('latin1'), hop, timer: setTimeout(this.#forget, ms, key) });
    this.#bytes += key.length + (answer?.length ?? 0);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST && this.#bytes <= MOST_BYTES) break;
      this.#forget(oldest);
    }
  }

  /** Whether a request with this key is a repeat. */
  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** The answer once more; undefined where repeats are only to be swallowed. */
  answer(key: string): { data: Buffer; hop: Hop } | undefined {
    const { answer, hop } = this.#known.get(key) ?? {};
    return answer === undefined || !hop ? undefined : { data: Buffer.from(answer, 'latin1'), hop };
  }

  clear(): void {
    for (const key of this.#known.keys()) this.#forget(key);
  }

  readonly #forget = (key: string): void => {
    const kept = this.#known.get(key);
    if (!kept) return;
    clearTimeout(kept.timer);
    this.#known.delete(key);
    this.#bytes -= key.length + (kept.answer?.length ?? 0);
  };
}

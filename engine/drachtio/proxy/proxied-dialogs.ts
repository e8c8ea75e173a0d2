import { headerOf, type SipMessage } from '../../sip/message.ts';
import { tagOf } from '../../sip/uri.ts';

const MOST = 100_000;
/** A dialog that nobody was seen to end. */
const LONGEST_MS = 24 * 3600 * 1000;

/** Dialogs in whose route we are: requests of no other dialog are handed on, or we would be anybody's relay. */
export class ProxiedDialogs {
  readonly #until = new Map<string, number>();

  get size(): number {
    return this.#until.size;
  }

  /** Takes note of the dialog that a 2xx begins. */
  begin(response: SipMessage): void {
    this.#until.set(keyOf(response), Date.now() + LONGEST_MS);
    if (this.#until.size <= MOST) return;
    for (const oldest of this.#until.keys()) return void this.#until.delete(oldest);
  }

  /** Whether a request of either side belongs to one. */
  has(request: SipMessage): boolean {
    return (this.#until.get(keyOf(request)) ?? 0) > Date.now();
  }

  /** A BYE has ended it. */
  end(request: SipMessage): void {
    this.#until.delete(keyOf(request));
  }
}

/** The same from either side. */
function keyOf(message: SipMessage): string {
  const tags = [tagOf(headerOf(message, 'from')) ?? '', tagOf(headerOf(message, 'to')) ?? ''].sort();
  return [headerOf(message, 'call-id'), ...tags].join(' ');
}

import type { Source } from '../sip/hop.ts';
import { headersOf, type SipRequest, type SipResponse } from '../sip/message.ts';
import type { Incoming } from './records.ts';

/** So many requests of strangers an application may have before it that it has not said anything about. */
export const MOST_STRANGERS = 200;
/** So many, when one of them has waited longer than an application takes that has time. */
export const MOST_OF_THE_SLOW = 20;
const SLOW_MS = 500;
/** Whoever proved who it is, or answered us, is no stranger for so long: as long as a registration may last. */
const KNOWN_MS = 7_200_000;
const MOST_KNOWN = 100_000;
/** Challenges that somebody may still answer. */
const MOST_NONCES = 20_000;

/**
 * The crowd before the door. When applications lag behind, requests of strangers are turned away before their line gets so
 * long that phones and carriers, who are always let in, would give up waiting behind them.
 */
export class Crowd {
  /** Since when, the longest first. */
  readonly #waiting = new Map<Incoming, number>();
  /** Until when by address, in the order in which they were last known. */
  readonly #known = new Map<string, number>();
  /** Of challenges, each with the address that it was given to, the oldest first. */
  readonly #nonces = new Set<string>();
  readonly #welcome: (source: Source) => void;
  /** Requests that were turned away so far. */
  turnedAway = 0;

  /** @param welcome called with everybody who becomes known, or does so again */
  constructor(welcome: (source: Source) => void) {
    this.#welcome = welcome;
  }

  /** Whether a new request from there has to be turned away. */
  isFull(source: Source): boolean {
    if (this.#waiting.size < this.#most() || this.#knows(source)) return false;
    this.turnedAway += 1;
    return true;
  }

  #most(): number {
    const [longest = Date.now()] = this.#waiting.values();
    return Date.now() - longest > SLOW_MS ? MOST_OF_THE_SLOW : MOST_STRANGERS;
  }

  /** It waits for an application from now on, until it leaves. */
  join(incoming: Incoming): void {
    if (!this.#knows(incoming.source)) this.#waiting.set(incoming, Date.now());
  }

  /** The application has said something, or it is over. */
  leave(incoming: Incoming): void {
    this.#waiting.delete(incoming);
  }

  /** An application asks somebody there who it is. */
  challenged(source: Source, challenge: SipResponse): void {
    for (const nonce of noncesOf(source, challenge, CHALLENGES)) this.#nonces.add(nonce);
    for (const oldest of this.#nonces) {
      if (this.#nonces.size <= MOST_NONCES) break;
      this.#nonces.delete(oldest);
    }
  }

  /**
   * An application has accepted what came from there. With an answer to a challenge of its own the sender has proved who it is;
   * any other may be a lie that nobody looked at, such as in an OPTIONS, and its address be somebody else's.
   */
  accepted(source: Source, request: SipRequest): void {
    if (noncesOf(source, request, PROOFS).some(nonce => this.#nonces.has(nonce))) this.know(source);
  }

  /** Somebody there has proved who it is to an application, or was called by one and answered. */
  know(source: Source): void {
    this.#welcome(source);
    const { address } = source;
    this.#known.delete(address);
    this.#known.set(address, Date.now() + KNOWN_MS);
    if (this.#known.size <= MOST_KNOWN) return;
    for (const oldest of this.#known.keys()) return void this.#known.delete(oldest);
  }

  #knows({ address }: Source): boolean {
    return (this.#known.get(address) ?? 0) > Date.now();
  }
}

const CHALLENGES = ['www-authenticate', 'proxy-authenticate'];
const PROOFS = ['authorization', 'proxy-authorization'];

/** The nonces in such headers, with the address they are good for; joined, so that nothing keeps the message. */
const noncesOf = ({ address }: Source, message: SipRequest | SipResponse, names: string[]): string[] =>
  names
    .flatMap(name => headersOf(message, name))
    .map(value => /\bnonce="([^"]{1,512})"/i.exec(value)?.[1] ?? '')
    .filter(nonce => nonce !== '')
    .map(nonce => [address, nonce].join(' '));

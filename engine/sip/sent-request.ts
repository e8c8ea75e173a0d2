import { EventEmitter } from 'node:events';
import type { Hop, Source } from './hop.ts';
import { headerOf, type HeaderInput, type SipRequest, type SipResponse } from './message.ts';
import { Alarms, type SipTimers } from './timers.ts';
import { emptied, type CancelResult, type ClientEvents, type ClientTransaction } from './transactions/client.ts';

/** One way to a server. */
export interface Way {
  hop: Hop;
  /** The next way leads to the same server: it is taken when no connection stands after this time, else never. */
  connectMs?: number;
}

/** What requests need of the stack. */
export interface Road {
  timers: SipTimers;
  /** A transaction for a copy of that request, with a branch of its own; it has not started. */
  begin(request: SipRequest, hop: Hop): ClientTransaction;
  /** Puts another way into a transaction that has not started. */
  aim(transaction: ClientTransaction, hop: Hop): void;
  waysTo(hop: Hop, request: SipRequest): Way[] | Promise<Way[]>;
  connected(hop: Hop): boolean;
  /** A way led nowhere. `seconds`: how long the server itself wants to be spared. */
  failed(way: Way, seconds?: number): void;
  answered(way: Way): void;
}

/**
 * How long a server may say nothing at all while there is another one, in T1: an INVITE has been sent three times by then and
 * is due a 100 after 200 ms; other requests are only answered when they are done.
 */
const SILENCE = { invite: 4, other: 8 } as const;

/**
 * A request of ours until it is over: a transaction to one server after the other, as RFC 3263 4.3 has it, until one does
 * not fail (timeout, transport error, 503). Emits what a transaction does. A server that was given up may answer after
 * all: its 2xx is told like any other, of which the user takes the first (RFC 3261 13.2.2.4).
 */
export class SentRequest extends EventEmitter<ClientEvents> {
  #given: SipRequest;
  readonly #road: Road;
  readonly #alarms = new Alarms();
  readonly #open = new Set<ClientTransaction>();
  #current: ClientTransaction;
  #way: Way | undefined;
  #left: Way[] = [];
  #cancelled = false;
  #over = false;

  constructor(request: SipRequest, hop: Hop, road: Road) {
    super();
    this.#given = request;
    this.#road = road;
    this.#current = this.#begin(hop);
    const ways = road.waysTo(hop, this.#current.request);
    if (Array.isArray(ways)) this.#set(ways);
    else ways.then(found => this.#set(found)).catch((error: unknown) => this.#fail(error as Error));
  }

  /** As it went on the wire, or is about to, Via included; headers and body until it has its final answer. */
  get request(): SipRequest {
    return this.#current.request;
  }

  get hop(): Hop {
    return this.#current.hop;
  }

  /** Only an INVITE can be cancelled; for others, and after the final response, nothing happens and undefined comes back. */
  cancel(headers: HeaderInput = {}): CancelResult | undefined {
    const result = this.#over ? undefined : this.#current.cancel(headers);
    this.#cancelled ||= result !== undefined;
    return result;
  }

  /** Stops everything without telling the user. */
  end(): void {
    this.#over = true;
    this.#alarms.clearAll();
    for (const one of this.#open) one.end();
  }

  #begin(hop: Hop): ClientTransaction {
    const transaction = this.#road.begin(this.#given, hop);
    this.#open.add(transaction);
    transaction.on('response', (response, source) => this.#heard(transaction, response, source));
    transaction.on('timeout', () => this.#lost(transaction));
    transaction.on('error', error => this.#lost(transaction, error));
    transaction.once('ended', () => {
      this.#open.delete(transaction);
      if (this.#over && this.#open.size === 0) this.emit('ended');
    });
    return transaction;
  }

  #set([first, ...others]: Way[]): void {
    if (this.#over) return;
    if (!first) return void setImmediate(() => this.#fail(new Error('no usable next hop')));
    if (this.#cancelled) return this.#fail(new Error('cancelled before it was sent'));
    this.#left = others;
    this.#road.aim(this.#current, first.hop);
    this.#go(first);
  }

  #go(way: Way): void {
    this.#way = way;
    if (way.connectMs === undefined) this.#listen();
    else this.#alarms.set('connection', way.connectMs, () => this.#connected(way));
    this.#current.start();
  }

  /** A connection that stands needs no datagram in its place; one that does not is left (RFC 3261 18.1.1). */
  #connected({ hop }: Way): void {
    if (!this.#road.connected(hop)) return void this.#goOn();
    this.#left.shift();
    this.#listen();
  }

  #listen(): void {
    const { invite, other } = SILENCE;
    const patience = (this.#given.method === 'INVITE' ? invite : other) * this.#road.timers.T1;
    if (this.#left.length > 0) this.#alarms.set('silence', patience, () => this.#goOn());
  }

  /** Takes the next way. False when there is none, or nobody wants it any more. */
  #goOn(seconds?: number): boolean {
    const next = this.#over || this.#cancelled ? undefined : this.#left.shift();
    if (!next || !this.#way) return false;
    this.#alarms.clearAll();
    this.#road.failed(this.#way, seconds);
    this.#current.abandon();
    this.#current = this.#begin(next.hop);
    this.#go(next);
    return true;
  }

  #heard(transaction: ClientTransaction, response: SipResponse, source: Source): void {
    const accepted = response.status >= 200 && response.status < 300;
    const late = transaction !== this.#current;
    if ((late || this.#over) && !accepted) return;
    if (!this.#over && !late && this.#isRefusal(response)) return;
    this.#alarms.clearAll();
    if (late && !this.#over) this.#current.cancel();
    if (!late && this.#way) this.#road.answered(this.#way);
    this.#over ||= response.status >= 200;
    this.emit('response', response, source);
    if (response.status >= 200) this.#forget(transaction);
  }

  /** Late answers are waited for half a minute, thousands of them at hundreds of calls a second. */
  #forget(answered: ClientTransaction): void {
    answered.forget();
    this.#given = emptied(this.#given);
  }

  /** 503: this server takes nothing now, and another one is asked (RFC 3261 21.5.4). */
  #isRefusal(response: SipResponse): boolean {
    if (response.status !== 503) return false;
    const seconds = parseInt(headerOf(response, 'retry-after') ?? '');
    return this.#goOn(Number.isNaN(seconds) ? undefined : seconds);
  }

  #lost(transaction: ClientTransaction, error?: Error): void {
    if (transaction === this.#current && !this.#over && !this.#goOn()) this.#fail(error);
  }

  #fail(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#alarms.clearAll();
    if (error && this.listenerCount('error') > 0) this.emit('error', error);
    else this.emit('timeout');
    // Servers that were given up keep their transactions, so that a late answer is taken back.
    if (this.#open.has(this.#current)) this.#current.end();
    else if (this.#open.size === 0) this.emit('ended');
  }
}

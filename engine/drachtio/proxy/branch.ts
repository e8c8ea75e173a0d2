import { responseInPlace, type SipRequest, type SipResponse } from '../../sip/message.ts';
import type { Hop, Source } from '../../sip/hop.ts';
import type { SipStack } from '../../sip/stack.ts';
import { Alarms } from '../../sip/timers.ts';
import type { SentRequest } from '../../sip/sent-request.ts';

/** What a branch has to tell the proxy it belongs to. */
export interface BranchEars {
  /** Provisional, and every 2xx. */
  heard(branch: Branch, response: SipResponse, source: Source): void;
  /** Its one final response that is no 2xx; made here, when nobody answered. */
  failed(branch: Branch, response: SipResponse, source: Source | undefined): void;
}

/** RFC 3261 16.6 step 11: an INVITE that rings longer than three minutes is given up. */
const TIMER_C_MS = 185_000;

/** One target of a proxied request. */
export class Branch {
  readonly request: SipRequest;
  readonly #transaction: SentRequest;
  readonly #ears: BranchEars;
  readonly #alarms = new Alarms();
  #over = false;

  constructor(stack: SipStack, request: SipRequest, hop: Hop, ears: BranchEars, times: BranchTimes) {
    this.request = request;
    this.#ears = ears;
    this.#transaction = stack.request(request, { nextHop: hop });
    this.#transaction.on('response', (response, source) => this.#heard(response, source));
    this.#transaction.on('timeout', () => this.#fail(408));
    this.#transaction.on('error', () => this.#fail(503));
    this.#transaction.once('ended', () => this.#alarms.clearAll());
    if (times.provisionalMs !== undefined) this.#alarms.set('provisional', times.provisionalMs, () => this.#giveUp());
    if (times.finalMs !== undefined) this.#alarms.set('final', times.finalMs, () => this.#giveUp());
    this.#ringsOn();
  }

  /** It has no final response that counts yet. */
  get open(): boolean {
    return !this.#over;
  }

  /** RFC 3261 16.7 step 2: who says again that it rings has three more minutes. */
  #ringsOn(): void {
    if (this.request.method === 'INVITE' && this.open) this.#alarms.set('C', TIMER_C_MS, () => this.#giveUp());
  }

  #heard(response: SipResponse, source: Source): void {
    this.#alarms.clear('provisional');
    if (response.status === 100) return;
    if (response.status < 200) this.#ringsOn();
    if (response.status >= 300) return this.#settle(response, source);
    if (response.status >= 200) this.#close();
    // A branch that was given up may answer all the same; its ringing is nobody's business (RFC 3261 16.7).
    if (response.status >= 200 || this.open) this.#ears.heard(this, response, source);
  }

  #fail(status: number): void {
    this.#settle(responseInPlace(this.#transaction.request, status), undefined);
  }

  #settle(response: SipResponse, source: Source | undefined): void {
    if (this.#over) return;
    this.#close();
    this.#ears.failed(this, response, source);
  }

  /** Too slow: cancelled, and counted as 408 at once. */
  #giveUp(): void {
    this.#transaction.cancel();
    this.#fail(408);
  }

  /** Somebody else answered: cancelled, and what it still says is not reported. */
  drop(): void {
    if (this.#over) return;
    this.#close();
    this.#transaction.cancel();
  }

  /** The caller gave up: cancelled, and its final response counts; one that has said nothing is not waited for. */
  cancel(): void {
    if (this.#over) return;
    if (this.#transaction.cancel()?.held) this.#fail(487);
  }

  #close(): void {
    this.#over = true;
    this.#alarms.clearAll();
  }
}

/** How long a target is waited for; undefined for no such haste. */
export interface BranchTimes {
  provisionalMs: number | undefined;
  finalMs: number | undefined;
}

import { performance } from 'node:perf_hooks';
import { parseNameAddress } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { ALLOW, SDP_TYPE, SipCall, reasonText } from './sip-call.ts';
import type { CallAgent, CallEnd, Respond } from './sip-call.ts';
import { dialogFromInvite } from './sip-dialog.ts';
import { header } from './sip-message.ts';
import type { SipHeader, SipRequest } from './sip-message.ts';
import type { ServerTransaction } from './sip-transaction.ts';

/** A call that reaches us. */
export class IncomingCall extends SipCall {
  readonly invite: SipRequest;
  #transaction: ServerTransaction;
  #respond: Respond;
  /** The answer to the INVITE's offer, made once: a 183 and the 200 must agree (RFC 3261 section 13.2.1). */
  #description: string | undefined;

  constructor(
    agent: CallAgent,
    transaction: ServerTransaction,
    tag: string,
    from: Remote,
    respond: Respond,
    at: number,
  ) {
    super(agent, dialogFromInvite(transaction.request, tag, from), 'in');
    this.invite = transaction.request;
    this.#transaction = transaction;
    this.#respond = respond;
    this.times.invite = at;
  }

  /** The caller: display name, URI. */
  get caller(): { display: string; uri: string } {
    const { display, uri } = parseNameAddress(header(this.invite, 'from') ?? '');
    return { display, uri };
  }

  /** 180 Ringing. */
  ring(): void {
    if (this.state !== 'calling') return;
    this.#respond(180, this.#contact());
    this.times.ringing = performance.now();
    this.move('ringing');
  }

  /** 183 with our session description: early media. False when the offer suits us not (the call is then refused with 488). */
  progress(): boolean {
    const body = this.#describe();
    if (body !== undefined && this.#open()) this.#respond(183, [...this.#contact(), SDP_TYPE], body);
    return body !== undefined;
  }

  /** 200. */
  answer(): void {
    if (!this.#open()) return;
    const body = this.#describe();
    if (body === undefined) return;
    this.#respond(200, [...this.#contact(), ALLOW, SDP_TYPE], body);
    this.times.answered = performance.now();
    this.move('answered');
  }

  /** Any refusal: 486, 603, 480 … */
  reject(status = 486, headers: SipHeader[] = []): void {
    if (!this.#open()) return;
    this.#respond(status, headers);
    this.finish({ by: 'us', status });
  }

  override async hangup(): Promise<void> {
    if (this.state === 'answered') return this.bye();
    this.reject(480);
  }

  override acknowledge(request: SipRequest, at: number): void {
    this.#transaction.acknowledged();
    super.acknowledge(request, at);
  }

  /** CANCEL came for our INVITE: 487 unless we have answered (section 9.2). */
  cancelled(cancel: SipRequest): void {
    if (!this.#open()) return;
    this.#respond(487);
    this.finish({ by: 'them', status: 487, reason: reasonText(cancel) });
  }

  /** No ACK for our 200 in 64*T1: the call is dead and we say so (section 13.3.1.4). */
  unacknowledged(): void {
    if (this.state === 'answered') void this.bye();
  }

  protected override receiveBye(request: SipRequest, respond: Respond): void {
    if (this.#open()) this.#respond(487);
    super.receiveBye(request, respond);
  }

  /** Whoever hangs up before the ACK has come needs the 200 no longer repeated. */
  protected override finish(end: CallEnd): void {
    if (this.state === 'answered') this.#transaction.acknowledged();
    super.finish(end);
  }

  #open(): boolean {
    return this.state === 'calling' || this.state === 'ringing';
  }

  #contact(): SipHeader[] {
    return [{ name: 'contact', value: this.agent.contact }];
  }

  #describe(): string | undefined {
    if (!this.media) throw new Error('the call has no media to answer with');
    const { body } = this.invite;
    this.#description ??= body === '' ? this.media.offer() : this.media.answer(body);
    if (this.#description === undefined) this.reject(488);
    return this.#description;
  }
}

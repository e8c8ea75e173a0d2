import { hopOfSource, type Hop, type Source } from '../sip/hop.ts';
import { headerOf, headersOf, newRequest, responseTo, type SipRequest } from '../sip/message.ts';
import type { SipStack } from '../sip/stack.ts';
import type { ServerTransaction } from '../sip/transactions/server.ts';
import { parseNameAddr } from '../sip/uri.ts';
import { causeFromReason, reasonHeader } from './causes.ts';
import { formatHostPort } from '../sip/grammar.ts';
import type { Negotiation } from './negotiation.ts';

export const allowed = 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE';

/** What the owner of a leg is told. */
export interface SipLegEvents {
  /** The answer has been acknowledged: media may flow, the application may be called. */
  established(): void;
  /** A re-INVITE has changed the session. */
  modified(): void;
  /** The other side has ended the dialog, or never acknowledged it. */
  ended(cause: string): void;
  /** A key by INFO (`application/dtmf-relay` or `application/dtmf`). */
  digit(digit: string, durationMs: number): void;
}

const tagPattern = /;\s*tag=([^;,\s]+)/i;

/** One dialog in which we were called (RFC 3261 section 12): INVITE, re-INVITE, BYE both ways. */
export class SipLeg {
  readonly callId: string;
  readonly localTag: string;
  readonly remoteTag: string;
  readonly #stack: SipStack;
  readonly #negotiation: Negotiation;
  readonly #events: SipLegEvents;
  readonly #invite: SipRequest;
  readonly #source: Source;
  readonly #routes: string[];
  readonly #contact: string;
  #remoteTarget: string;
  #offered = false;
  #established = false;
  #ended = false;
  #remoteCseq: number;

  constructor(stack: SipStack, transaction: ServerTransaction, negotiation: Negotiation, events: SipLegEvents) {
    const { request, source } = transaction;
    this.#stack = stack;
    this.#negotiation = negotiation;
    this.#events = events;
    this.#invite = request;
    this.#source = source;
    this.callId = headerOf(request, 'call-id') ?? '';
    this.localTag = transaction.localTag;
    this.remoteTag = tagPattern.exec(headerOf(request, 'from') ?? '')?.[1] ?? '';
    this.#routes = headersOf(request, 'record-route');
    this.#remoteTarget = targetOf(request) ?? request.uri;
    this.#remoteCseq = Number.parseInt(headerOf(request, 'cseq') ?? '0', 10);
    const own = formatHostPort(source.localAddress, source.localPort);
    this.#contact = `<sip:drachtio@${own};transport=${source.transport}>`;
  }

  /** Whether an in-dialog request or ACK is for this leg. */
  owns(request: SipRequest): boolean {
    return tagPattern.exec(headerOf(request, 'to') ?? '')?.[1] === this.localTag;
  }

  /** Answers the INVITE: 200 with the answer or, without an offer, with ours; false after a 488. */
  answer(transaction: ServerTransaction): boolean {
    return this.#respondToInvite(transaction);
  }

  /** Any request in this dialog. */
  receive(transaction: ServerTransaction): void {
    const { request } = transaction;
    const cseq = Number.parseInt(headerOf(request, 'cseq') ?? '0', 10);
    if (this.#ended) return transaction.respond(responseTo(request, 481));
    if (cseq <= this.#remoteCseq) return transaction.respond(responseTo(request, 500)); // RFC 3261 12.2.2
    this.#remoteCseq = cseq;
    if (request.method === 'BYE') this.#onBye(transaction);
    else if (request.method === 'INVITE') this.#onReinvite(transaction);
    else if (request.method === 'UPDATE') this.#onUpdate(transaction);
    else this.#onOther(transaction);
  }

  /** Sends BYE with the cause (RFC 3326); does nothing in a dialog that is over. */
  bye(cause: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const request = newRequest('BYE', this.#remoteTarget, {
      From: withTag(headerOf(this.#invite, 'to') ?? '', this.localTag),
      To: headerOf(this.#invite, 'from'),
      'Call-ID': this.callId,
      CSeq: '1 BYE',
      Route: this.#routes.length > 0 ? this.#routes : undefined,
      'User-Agent': 'Trunkline media server',
      Reason: reasonHeader(cause),
    });
    // Back to where the INVITE came from: that is the server that knows the dialog, whatever its Contact says.
    this.#stack.request(request, { nextHop: this.#hop() }).on('error', () => undefined);
  }

  #hop(): Hop {
    return hopOfSource(this.#source);
  }

  #respondToInvite(transaction: ServerTransaction): boolean {
    const { request } = transaction;
    const offer = request.body.toString('utf8');
    const offerless = offer.trim() === '';
    const local = offerless ? this.#negotiation.offer(this.#source.address) : this.#negotiation.answer(offer);
    if (local === null) {
      transaction.respond(responseTo(request, 488, undefined, { Reason: reasonHeader('INCOMPATIBLE_DESTINATION') }));
      return false;
    }
    this.#offered = offerless;
    // The transaction lingers for 64*T1 (RFC 6026). From the ACK on it holds on to nothing of the call, whose audio takes memory.
    const onTimeout = (): void => this.#onNoAck();
    transaction.once('timeout', onTimeout);
    transaction.once('ack', ack => {
      transaction.off('timeout', onTimeout);
      this.#onAck(ack);
    });
    transaction.respond(responseTo(request, 200, undefined, this.#sessionHeaders(request), local));
    return true;
  }

  #sessionHeaders(request: SipRequest): Record<string, string> {
    return {
      To: withTag(headerOf(request, 'to') ?? '', this.localTag),
      Contact: this.#contact,
      'User-Agent': 'Trunkline media server',
      Allow: allowed,
      Accept: 'application/sdp',
      'Content-Type': 'application/sdp',
      'Content-Disposition': 'session',
    };
  }

  #onAck(ack: SipRequest): void {
    const body = ack.body.toString('utf8');
    if (this.#offered && body.trim() !== '' && !this.#negotiation.accept(body)) {
      this.bye('INCOMPATIBLE_DESTINATION');
      return this.#events.ended('INCOMPATIBLE_DESTINATION');
    }
    this.#offered = false;
    const first = !this.#established;
    this.#established = true;
    if (first) this.#events.established();
    else this.#events.modified();
  }

  #onNoAck(): void {
    if (this.#ended) return;
    this.bye('RECOVERY_ON_TIMER_EXPIRE'); // RFC 3261 13.3.1.4: no ACK, so BYE
    this.#events.ended('RECOVERY_ON_TIMER_EXPIRE');
  }

  #onBye(transaction: ServerTransaction): void {
    this.#ended = true;
    transaction.respond(responseTo(transaction.request, 200));
    this.#events.ended(causeFromReason(headerOf(transaction.request, 'reason')));
  }

  #onReinvite(transaction: ServerTransaction): void {
    this.#remoteTarget = targetOf(transaction.request) ?? this.#remoteTarget;
    if (this.#respondToInvite(transaction)) this.#events.modified();
  }

  #onUpdate(transaction: ServerTransaction): void {
    const { request } = transaction;
    const offer = request.body.toString('utf8');
    const local = offer.trim() === '' ? '' : this.#negotiation.answer(offer);
    if (local === null) return transaction.respond(responseTo(request, 488));
    const headers = this.#sessionHeaders(request);
    if (local === '') transaction.respond(responseTo(request, 200, undefined, { Contact: this.#contact }));
    else transaction.respond(responseTo(request, 200, undefined, headers, local));
    if (local !== '') this.#events.modified();
  }

  #onOther(transaction: ServerTransaction): void {
    const { request } = transaction;
    if (request.method === 'INFO') this.#onInfo(request);
    const known = request.method === 'INFO' || request.method === 'OPTIONS';
    transaction.respond(responseTo(request, known ? 200 : 405, undefined, { Allow: allowed }));
  }

  #onInfo(request: SipRequest): void {
    const type = headerOf(request, 'content-type') ?? '';
    const text = request.body.toString('utf8').slice(0, 200);
    const relay = /Signal\s*=\s*([0-9A-D*#])/i.exec(text)?.[1];
    const digit = type.startsWith('application/dtmf-relay') ? relay : /^\s*([0-9A-D*#])\s*$/i.exec(text)?.[1];
    const duration = Number(/Duration\s*=\s*(\d{1,5})/i.exec(text)?.[1] ?? 100);
    if (type.startsWith('application/dtmf') && digit) this.#events.digit(digit.toUpperCase(), duration);
  }
}

function targetOf(request: SipRequest): string | undefined {
  const contact = headerOf(request, 'contact');
  return contact === undefined ? undefined : parseNameAddr(contact)?.uri;
}

function withTag(value: string, tag: string): string {
  return tagPattern.test(value) ? value : `${value};tag=${tag}`;
}

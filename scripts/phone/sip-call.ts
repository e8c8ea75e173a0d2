import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import type { Remote } from './sip-address.ts';
import { nextHop, refreshTarget, requestWithin } from './sip-dialog.ts';
import type { Dialog } from './sip-dialog.ts';
import { cseq, header } from './sip-message.ts';
import type { SipHeader, SipRequest, SipResponse } from './sip-message.ts';
import type { ServerTransaction } from './sip-transaction.ts';

/** How a call came to its end, seen from this phone. */
export interface CallEnd {
  by: 'us' | 'them' | 'refused';
  /** The SIP status that ended an unanswered call. */
  status?: number;
  /** The reason phrase, or what a Reason header of BYE or CANCEL said (RFC 3326). */
  reason?: string;
}

export type CallState = 'calling' | 'ringing' | 'answered' | 'ended';

/** performance.now() at the socket, for latency measurements. */
export interface CallTimes {
  invite?: number;
  provisional?: number;
  ringing?: number;
  answered?: number;
  acknowledged?: number;
  ended?: number;
}

/** The audio side of a call: session descriptions in and out. */
export interface CallMedia {
  offer(): string;
  /** Undefined when the offer holds nothing we speak. */
  answer(offer: string): string | undefined;
  /** False when the answer holds nothing we offered. */
  accept(answer: string): boolean;
}

/** What a call needs of the user agent it belongs to. */
export interface CallAgent {
  contact: string;
  /** Sends a request in a new client transaction, answering digest challenges; `response` gets the rest. */
  request(request: SipRequest, to: Remote, handlers: RequestHandlers): void;
  /** Sends without a transaction: ACK. */
  send(request: SipRequest, to: Remote): void;
  ended(call: SipCall): void;
}

export interface RequestHandlers {
  /** The request as sent, anew after each challenge: an ACK and a CANCEL need its Via and CSeq. */
  sent?(request: SipRequest): void;
  response(response: SipResponse, at: number): void;
  timeout(): void;
}

export interface CallEvents {
  state: [CallState];
  /** 183 or another provisional answer. */
  progress: [SipResponse];
  /** Anything the other side asked within the call: INFO, NOTIFY, MESSAGE, REFER, a new offer. */
  request: [SipRequest];
  ended: [CallEnd];
}

export const ALLOW = { name: 'allow', value: 'INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, NOTIFY, MESSAGE, UPDATE' };
const SDP: SipHeader = { name: 'content-type', value: 'application/sdp' };

/** One call leg: what callers and called have in common once a dialog exists. */
export abstract class SipCall extends EventEmitter<CallEvents> {
  readonly dialog: Dialog;
  readonly direction: 'out' | 'in';
  readonly times: CallTimes = {};
  state: CallState = 'calling';
  end: CallEnd | undefined;
  media: CallMedia | undefined;
  protected agent: CallAgent;
  #reinvite: ServerTransaction | undefined;

  constructor(agent: CallAgent, dialog: Dialog, direction: 'out' | 'in') {
    super();
    // Listeners come and go with whatever waits for this call: their number is no sign of a leak.
    this.setMaxListeners(0);
    this.agent = agent;
    this.dialog = dialog;
    this.direction = direction;
  }

  get call_id(): string {
    return this.dialog.call_id;
  }

  /** Ends the call the way its state asks for: CANCEL, a refusal, or BYE. Resolves when the other side has confirmed or given up. */
  abstract hangup(): Promise<void>;

  /** An ACK for a 2xx of ours. */
  acknowledge(request: SipRequest, at: number): void {
    this.times.acknowledged ??= at;
    this.#reinvite?.acknowledged();
    if (request.body !== '') this.media?.accept(request.body);
  }

  /** A request within the dialog (section 12.2.2). */
  receive(request: SipRequest, transaction: ServerTransaction, respond: Respond): void {
    const sequence = cseq(request).number;
    if (sequence < this.dialog.remoteSequence) return respond(500);
    this.dialog.remoteSequence = sequence;
    if (request.method === 'BYE') return this.receiveBye(request, respond);
    if (request.method === 'INVITE' || request.method === 'UPDATE')
      return this.#receiveOffer(request, transaction, respond);
    respond(request.method === 'REFER' ? 603 : 200);
    this.emit('request', request);
  }

  /** Sends any request within the call (INFO, REFER …) and resolves with its final response, or undefined when none came. */
  request(method: string, headers: SipHeader[] = [], body = ''): Promise<SipResponse | undefined> {
    const request = requestWithin(this.dialog, method, headers, body);
    return new Promise(resolve => {
      this.agent.request(request, nextHop(this.dialog), {
        sent: sent => this.noteSequence(sent),
        response: response => response.status >= 200 && resolve(response),
        timeout: () => resolve(undefined),
      });
    });
  }

  /** Offers the media anew (hold, resume). Resolves with the final status, 408 when none came. */
  reinvite(): Promise<number> {
    const headers = [{ name: 'contact', value: this.agent.contact }, SDP];
    const request = requestWithin(this.dialog, 'INVITE', headers, this.media?.offer());
    return new Promise(resolve => {
      this.agent.request(request, nextHop(this.dialog), {
        sent: sent => this.noteSequence(sent),
        response: response => response.status >= 200 && resolve(this.#reinvited(response)),
        timeout: () => resolve(408),
      });
    });
  }

  #reinvited(response: SipResponse): number {
    if (response.status >= 300) return response.status;
    refreshTarget(this.dialog, response);
    this.sendAck(cseq(response).number);
    this.media?.accept(response.body);
    return response.status;
  }

  protected sendAck(sequence: number, body = ''): void {
    const ack = requestWithin(this.dialog, 'ACK', body === '' ? [] : [SDP], body, sequence);
    this.agent.send(ack, nextHop(this.dialog));
  }

  protected async bye(): Promise<void> {
    const confirmed = this.request('BYE');
    this.finish({ by: 'us' });
    await confirmed;
  }

  /** A challenge makes the client count on; the dialog must not fall behind (RFC 3261 section 22.2). */
  protected noteSequence(sent: SipRequest): void {
    this.dialog.localSequence = Math.max(this.dialog.localSequence, cseq(sent).number);
  }

  protected receiveBye(request: SipRequest, respond: Respond): void {
    respond(200);
    this.finish({ by: 'them', reason: reasonText(request) });
  }

  protected move(state: CallState): void {
    if (this.state === state || this.state === 'ended') return;
    this.state = state;
    this.emit('state', state);
  }

  protected finish(end: CallEnd): void {
    if (this.end) return;
    this.#reinvite?.acknowledged();
    this.end = end;
    this.times.ended = performance.now();
    this.move('ended');
    this.emit('ended', end);
    this.agent.ended(this);
  }

  #receiveOffer(request: SipRequest, transaction: ServerTransaction, respond: Respond): void {
    refreshTarget(this.dialog, request);
    const body = request.body === '' ? bodyWithoutOffer(request, this.media) : this.media?.answer(request.body);
    if (body === undefined) return respond(488);
    if (request.method === 'INVITE') this.#reinvite = transaction;
    respond(200, [{ name: 'contact', value: this.agent.contact }, ...(body === '' ? [] : [SDP])], body);
    this.emit('request', request);
  }
}

export type Respond = (status: number, headers?: SipHeader[], body?: string) => void;

/** A re-INVITE without offer wants ours in the 200 (section 14.2); an UPDATE without one wants none (RFC 3311). */
function bodyWithoutOffer(request: SipRequest, media: CallMedia | undefined): string | undefined {
  return request.method === 'INVITE' ? media?.offer() : '';
}

/** The text, or else the cause, of a Reason header (RFC 3326). */
export function reasonText(request: SipRequest): string | undefined {
  const value = header(request, 'reason');
  return /text\s*=\s*"([^"]*)"/i.exec(value ?? '')?.[1] ?? value;
}

export { SDP as SDP_TYPE };

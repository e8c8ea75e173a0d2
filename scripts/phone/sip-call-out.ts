import { performance } from 'node:perf_hooks';
import type { Remote } from './sip-address.ts';
import { tagOf } from './sip-address.ts';
import { ALLOW, SDP_TYPE, SipCall } from './sip-call.ts';
import type { CallAgent, CallMedia } from './sip-call.ts';
import { learnFromResponse, nextHop, requestWithin } from './sip-dialog.ts';
import type { Dialog } from './sip-dialog.ts';
import { cseq, header } from './sip-message.ts';
import type { SipHeader, SipRequest, SipResponse } from './sip-message.ts';

/** A call we place. */
export class OutgoingCall extends SipCall {
  /** The INVITE as last sent, which CANCEL copies (RFC 3261 section 9.1). */
  #invite: SipRequest | undefined;
  #to: Remote;
  #heard = false;
  #cancel: 'no' | 'wanted' | 'sent' = 'no';

  constructor(agent: CallAgent, dialog: Dialog, media: CallMedia, to: Remote) {
    super(agent, dialog, 'out');
    this.media = media;
    this.#to = to;
  }

  /** Sends the INVITE. */
  start(extra: SipHeader[] = []): void {
    const headers = [{ name: 'contact', value: this.agent.contact }, ALLOW, SDP_TYPE, ...extra];
    const invite = requestWithin(this.dialog, 'INVITE', headers, this.media?.offer());
    this.agent.request(invite, this.#to, {
      sent: request => this.#sent(request),
      response: (response, at) => this.#response(response, at),
      timeout: () => this.finish({ by: 'refused', status: 408, reason: 'No answer to our INVITE' }),
    });
  }

  override async hangup(): Promise<void> {
    if (this.state === 'answered') return this.bye();
    if (this.state !== 'ended') await this.cancel();
  }

  /** Takes the INVITE back; resolves when the call is over (by 487, or by BYE if the answer crossed). */
  cancel(): Promise<void> {
    if (this.end || this.state === 'answered') return Promise.resolve();
    if (this.#cancel === 'no') this.#cancel = 'wanted';
    if (this.#heard) this.#sendCancel();
    return new Promise(resolve => this.once('ended', () => resolve()));
  }

  #sent(request: SipRequest): void {
    this.#invite = request;
    this.times.invite ??= performance.now();
    this.noteSequence(request);
  }

  /** Section 9.1: only after a provisional response, and with the INVITE's own Via and sequence. */
  #sendCancel(): void {
    if (this.#cancel !== 'wanted' || !this.#invite) return;
    this.#cancel = 'sent';
    const copied = this.#invite.headers.filter(h =>
      ['via', 'from', 'to', 'call-id', 'route', 'max-forwards'].includes(h.name),
    );
    const headers = [...copied, { name: 'cseq', value: `${cseq(this.#invite).number} CANCEL` }];
    const cancel: SipRequest = { kind: 'request', method: 'CANCEL', uri: this.#invite.uri, headers, body: '' };
    this.agent.request(cancel, this.#to, {
      response: () => undefined,
      timeout: () => this.finish({ by: 'us', status: 487 }),
    });
  }

  #response(response: SipResponse, at: number): void {
    if (response.status < 200) return this.#provisional(response, at);
    if (response.status < 300) return this.#answered(response, at);
    const by = this.#cancel === 'no' ? 'refused' : 'us';
    this.finish({ by, status: response.status, reason: response.reason });
  }

  #provisional(response: SipResponse, at: number): void {
    if (this.end) return;
    this.#heard = true;
    this.times.provisional ??= at;
    this.#sendCancel();
    if (response.status === 100 || this.state === 'answered') return;
    if (tagOf(header(response, 'to')) !== undefined) learnFromResponse(this.dialog, response);
    if (response.body !== '') this.media?.accept(response.body);
    if (response.status === 180) this.times.ringing ??= at;
    if (response.status === 180) this.move('ringing');
    this.emit('progress', response);
  }

  #answered(response: SipResponse, at: number): void {
    const tag = tagOf(header(response, 'to'));
    if (this.times.answered !== undefined && tag !== this.dialog.remoteTag) return this.#refuseFork(response);
    const repeated = this.times.answered !== undefined;
    this.times.answered ??= at;
    learnFromResponse(this.dialog, response);
    this.sendAck(cseq(response).number);
    if (repeated) return;
    const understood = this.media?.accept(response.body) ?? false;
    if (this.#cancel !== 'no' || !understood || this.end) return void this.bye();
    this.move('answered');
  }

  /** A second phone behind a forking proxy answered too: take its dialog and end it (section 13.2.2.4). */
  #refuseFork(response: SipResponse): void {
    const other = { ...this.dialog };
    learnFromResponse(other, response);
    this.agent.send(requestWithin(other, 'ACK', [], '', cseq(response).number), nextHop(other));
    this.agent.request(requestWithin(other, 'BYE'), nextHop(other), {
      response: () => undefined,
      timeout: () => undefined,
    });
  }
}

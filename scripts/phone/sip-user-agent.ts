import { randomBytes } from 'node:crypto';
import { parseUri, remoteOf, tagOf } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { ALLOW } from './sip-call.ts';
import type { CallAgent, CallMedia, RequestHandlers, Respond, SipCall } from './sip-call.ts';
import { IncomingCall } from './sip-call-in.ts';
import { OutgoingCall } from './sip-call-out.ts';
import { SipClient } from './sip-client.ts';
import { newDialog } from './sip-dialog.ts';
import { header, respondTo } from './sip-message.ts';
import type { SipHeader, SipRequest, SipResponse } from './sip-message.ts';
import { Registration } from './sip-registration.ts';
import type { RegisterOptions } from './sip-registration.ts';
import { ServerTransaction } from './sip-transaction.ts';
import type { Identity, Wire } from './sip-wire.ts';
import { branchOf } from './sip-wire.ts';

/** A SIP user agent: it registers, places calls and takes them (RFC 3261 sections 8, 10, 13). */
export class SipUserAgent implements CallAgent {
  readonly calls = new Set<SipCall>();
  readonly registration: Registration;
  onCall: (call: IncomingCall) => void = call => call.reject(480);
  #identity: Identity;
  #wire: Wire;
  #client: SipClient;
  #servers = new Map<string, ServerTransaction>();
  #ignored = new Set<string>();

  constructor(identity: Identity, wire: Wire) {
    this.#identity = identity;
    this.#wire = wire;
    this.#client = new SipClient(identity, wire);
    this.registration = new Registration(identity, this, this.#client);
    wire.onRequest = (request, from, at) => this.#receive(request, from, at);
    wire.onResponse = (response, at) => this.#client.receive(response, at);
    wire.onFailure = to => this.#client.failed(to);
  }

  get contact(): string {
    const { protocol, sentBy } = this.#wire;
    return `<sip:${this.#identity.username}@${sentBy}${protocol === 'udp' ? '' : `;transport=${protocol}`}>`;
  }

  get server(): Remote | undefined {
    return this.#identity.server;
  }

  register(options: RegisterOptions = {}): Promise<number> {
    return this.registration.register(options);
  }

  /** Places a call to a URI. It goes to our server if we have one, else straight to the URI's host. */
  invite(target: string, media: CallMedia, headers: SipHeader[] = []): OutgoingCall {
    const to = this.#identity.server ?? remoteOf(parseUri(target));
    const start = {
      call_id: `${randomBytes(12).toString('hex')}@${this.#wire.local.host}`,
      localTag: newTag(),
      localAddress: this.#identity.address,
      remoteAddress: `<${target}>`,
      peer: to,
    };
    const call = new OutgoingCall(this, newDialog(start, target), media, to);
    this.calls.add(call);
    call.start(headers);
    return call;
  }

  request(request: SipRequest, to: Remote, handlers: RequestHandlers): void {
    this.#client.request(request, to, handlers);
  }

  send(request: SipRequest, to: Remote): void {
    this.#wire.send({ ...request, headers: [this.#wire.via(), ...request.headers] }, to);
  }

  ended(call: SipCall): void {
    this.calls.delete(call);
  }

  /** From now on nothing of this call is answered or sent: the phone lost its network. */
  ignore(call: SipCall): void {
    this.#ignored.add(call.call_id);
    this.#client.abandon(call.call_id);
    for (const transaction of this.#servers.values()) {
      if (header(transaction.request, 'call-id') === call.call_id) transaction.close();
    }
    this.calls.delete(call);
  }

  async close(): Promise<void> {
    this.registration.forget();
    this.#client.close();
    for (const transaction of this.#servers.values()) transaction.close();
    await this.#wire.close();
  }

  #receive(request: SipRequest, from: Remote, at: number): void {
    if (this.#ignored.has(header(request, 'call-id') ?? '')) return;
    if (request.method === 'ACK') return this.#receiveAck(request, at);
    const known = this.#servers.get(transactionKey(request));
    if (known) return known.repeat();
    const tag = newTag();
    const transaction = this.#openTransaction(request, from);
    const respond: Respond = (status, headers = [], body = '') =>
      transaction.respond(respondTo(request, status, tag, headers, body));
    if (request.method === 'CANCEL') return this.#receiveCancel(request, respond);
    if (tagOf(header(request, 'to')) !== undefined) return this.#receiveWithin(request, transaction, respond);
    if (request.method === 'INVITE') return this.#receiveInvite(transaction, from, respond, tag, at);
    const known_method = ['OPTIONS', 'INFO', 'NOTIFY', 'MESSAGE'].includes(request.method);
    respond(known_method ? 200 : 405, [ALLOW]);
  }

  #openTransaction(request: SipRequest, from: Remote): ServerTransaction {
    const key = transactionKey(request);
    const to = this.#wire.returnPath(request, from);
    const transaction = new ServerTransaction(request, {
      ...this.#wire.surroundings,
      send: (response: SipResponse) => this.#wire.send(response, to),
      unacknowledged: () => this.#callOf(request)?.unacknowledged(),
      done: () => this.#servers.delete(key),
    });
    this.#servers.set(key, transaction);
    return transaction;
  }

  #receiveInvite(transaction: ServerTransaction, from: Remote, respond: Respond, tag: string, at: number): void {
    const call = new IncomingCall(this, transaction, tag, from, respond, at);
    this.calls.add(call);
    respond(100);
    this.onCall(call);
  }

  /** An ACK ends the INVITE's transaction (refusals share its branch) or reaches the call it answers. */
  #receiveAck(ack: SipRequest, at: number): void {
    const transaction = this.#servers.get(`${branchOf(ack)}|INVITE`);
    if (transaction) return transaction.acknowledged();
    this.#dialogOf(ack)?.acknowledge(ack, at);
  }

  #receiveCancel(cancel: SipRequest, respond: Respond): void {
    const invite = this.#servers.get(`${branchOf(cancel)}|INVITE`);
    respond(invite ? 200 : 481);
    if (invite) this.#callOf(invite.request)?.cancelled(cancel);
  }

  #receiveWithin(request: SipRequest, transaction: ServerTransaction, respond: Respond): void {
    const call = this.#dialogOf(request);
    if (call) call.receive(request, transaction, respond);
    else respond(481);
  }

  #dialogOf(request: SipRequest): SipCall | undefined {
    const call_id = header(request, 'call-id');
    const local = tagOf(header(request, 'to'));
    return [...this.calls].find(call => call.call_id === call_id && call.dialog.localTag === local);
  }

  #callOf(invite: SipRequest): IncomingCall | undefined {
    return [...this.calls].find((call): call is IncomingCall => call instanceof IncomingCall && call.invite === invite);
  }
}

/** RFC 3261 section 17.2.3. */
function transactionKey(request: SipRequest): string {
  return `${branchOf(request)}|${request.method}`;
}

function newTag(): string {
  return randomBytes(6).toString('hex');
}

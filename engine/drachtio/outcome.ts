import { randomUUID } from 'node:crypto';
import type { Hop, Source } from '../sip/hop.ts';
import { cseqOf, headerOf, headersOf, responseInPlace, type SipRequest, type SipResponse } from '../sip/message.ts';
import { NameError } from '../sip/resolver.ts';
import { isChallenge } from '../sip/transactions/server.ts';
import { tagOf } from '../sip/uri.ts';
import { announce, announceOwn } from './announce.ts';
import { callAnswered } from './cdr.ts';
import { runHeld } from './dialogs.ts';
import { dialogRequest, routesOfResponse, sendBye } from './in-dialog.ts';
import type { Core, Dialog, Outgoing } from './records.ts';
import { expectPrack, isOutOfTurn } from './reliable.ts';
import { prolong } from './session-timer.ts';
import { endsSubscription, losesSubscription, renew } from './subscriptions.ts';
import { contactOf, nextHop, peerOfResponse } from './target.ts';

/** A request, where it goes, and who wants to know what comes of it: an application or `own`. */
interface Launch extends Pick<Outgoing, 'app' | 'own' | 'dialog' | 'initial'> {
  request: SipRequest;
  hop: Hop;
}

/** Sends a request of an application, or of the server itself, and follows it to its end. */
export function launch(core: Core, { request, hop, ...whose }: Launch): Outgoing {
  const { method } = request;
  const transaction = core.stack.request(request, { nextHop: hop });
  const reliable = { agreed: false, rseqs: new Map<string, number>(), unconfirmed: [] };
  const state = { final: undefined, cancelled: false, tag: undefined, ack: undefined, ...reliable };
  const seq = cseqOf(request)?.number ?? 0;
  const outgoing: Outgoing = { id: randomUUID(), transaction, method, seq, ...whose, ...state };
  core.outgoing.set(outgoing.id, outgoing);
  if (whose.dialog && method === 'INVITE') whose.dialog.invite = outgoing;
  if (whose.dialog && method === 'UPDATE') whose.dialog.update = outgoing;
  watch(core, outgoing);
  return outgoing;
}

function watch(core: Core, outgoing: Outgoing): void {
  const { transaction } = outgoing;
  transaction.on('response', (response, source) => receiveResponse(core, outgoing, response, source));
  transaction.on('timeout', () => failed(core, outgoing, 408));
  transaction.on('error', error => {
    core.log.info({ err: error, call_id: headerOf(transaction.request, 'call-id') }, 'request could not be delivered');
    // A name that leads nowhere is said, so that whoever reads why a call failed sees which.
    failed(core, outgoing, 503, error instanceof NameError ? error.message : undefined);
  });
}

/** Nobody answered, or nobody could be asked: the application gets a response of the server's own (RFC 3261 8.1.3.1). */
function failed(core: Core, outgoing: Outgoing, status: number, reason?: string): void {
  if (outgoing.final !== undefined) return;
  const { request, hop } = outgoing.transaction;
  const response = responseInPlace(request, status, reason);
  conclude(core, outgoing, status);
  outgoing.own?.(response);
  if (outgoing.app) announceOwn(outgoing.app, outgoing.id, outgoing.dialog?.id ?? '', response, hop);
  record(core, outgoing, response);
}

/** The call that an INVITE was to begin has begun, or never will. */
function record(core: Core, { initial, method, app }: Outgoing, response: SipResponse): void {
  if (app && initial && method === 'INVITE' && response.status >= 200) callAnswered(core, 'network', 'uac', response);
}

function receiveResponse(core: Core, outgoing: Outgoing, response: SipResponse, source: Source): void {
  if (response.status === 100) return;
  if (outgoing.final !== undefined) return repeated(core, outgoing, response, source);
  if (isOutOfTurn(outgoing, response)) return;
  if (outgoing.initial && outgoing.app) core.crowd.know(source);
  if (outgoing.initial) learn(outgoing, response, source);
  else if (outgoing.dialog && response.status < 300) retarget(outgoing, outgoing.dialog, response, source);
  expectPrack(outgoing, response);
  if (response.body.length > 0 && response.status < 300 && headerOf(response, 'rseq')) outgoing.agreed = true;
  if (response.status >= 200) conclude(core, outgoing, response.status);
  if (response.status >= 200 && response.status < 300) accepted(core, outgoing, response);
  if (outgoing.own) return outgoing.own(response);
  if (!outgoing.app || (outgoing.dialog?.app === undefined && outgoing.method === 'INVITE'))
    return unwanted(core, outgoing, response, source);
  announce(outgoing.app, outgoing.id, outgoing.dialog?.id ?? '', response, source);
  record(core, outgoing, response);
  if (outgoing.initial && outgoing.dialog?.state === 'confirmed') runHeld(outgoing.dialog);
}

/** A 2xx prolongs what runs out by itself: subscriptions and sessions. */
function accepted(core: Core, { dialog, method, transaction }: Outgoing, response: SipResponse): void {
  if (!dialog) return;
  const { request } = transaction;
  if ((method === 'INVITE' || method === 'UPDATE') && request.body.length > 0) dialog.description = request.body;
  renew(core, dialog, request, response);
  prolong(core, dialog, method, response, 'uac');
}

/** What the first responses tell about the other side (RFC 3261 12.1.2). The 2xx has the last word over provisionals. */
function learn(outgoing: Outgoing, response: SipResponse, source: Source): void {
  const { dialog } = outgoing;
  const tag = tagOf(headerOf(response, 'to'));
  // A provisional without a tag tells nothing; a 2xx counts even from a peer older than tags (RFC 3261 12.1.2).
  if (!dialog || response.status >= 300 || (tag === undefined && response.status < 200)) return;
  outgoing.tag = tag;
  dialog.remoteTag = tag;
  dialog.remote = headerOf(response, 'to') ?? dialog.remote;
  dialog.routes = routesOfResponse(headersOf(response, 'record-route'));
  dialog.target = contactOf(response) ?? dialog.target;
  dialog.peer = peerOfResponse(dialog.routes, dialog.target, source);
}

/** Target refresh by the answer to a re-INVITE or UPDATE. */
function retarget(outgoing: Outgoing, dialog: Dialog, response: SipResponse, source: Source): void {
  if (response.status < 200 || !['INVITE', 'UPDATE', 'SUBSCRIBE'].includes(outgoing.method)) return;
  outgoing.tag = tagOf(headerOf(response, 'to'));
  const contact = contactOf(response);
  if (contact === undefined || contact === dialog.target) return;
  dialog.target = contact;
  dialog.peer = peerOfResponse(dialog.routes, contact, source);
}

/** The final response is known: dialogs begin, go on or end with it. */
function conclude(core: Core, outgoing: Outgoing, status: number): void {
  outgoing.final = status;
  core.outgoing.delete(outgoing.id);
  const { dialog } = outgoing;
  if (!dialog) return;
  if (outgoing.initial && status < 300) dialog.state = 'confirmed';
  else if (outgoing.initial || (outgoing.method === 'BYE' && !isChallenge(status))) core.dialogs.remove(dialog);
  else if (endsSubscription(dialog, outgoing.transaction.request)) core.dialogs.remove(dialog);
  else if (losesSubscription(dialog, outgoing.method, status)) core.dialogs.remove(dialog);
  else if (outgoing.method === 'INVITE' && status >= 300) dialog.invite = undefined;
}

/** A 2xx after the first: the same one repeated gets its ACK again, another fork an ACK and a BYE (RFC 3261 13.2.2.4). */
function repeated(core: Core, outgoing: Outgoing, response: SipResponse, source: Source): void {
  if (outgoing.method !== 'INVITE' || response.status < 200 || response.status >= 300) return;
  const same = tagOf(headerOf(response, 'to')) === outgoing.tag;
  if (!same && outgoing.initial) return unwanted(core, outgoing, response, source);
  if (same && outgoing.ack) core.stack.send(outgoing.ack.request, outgoing.ack.hop);
}

/** Accepts and ends a call nobody here wants: a second fork, or one answered after its application had gone. */
function unwanted(core: Core, outgoing: Outgoing, response: SipResponse, source: Source): void {
  if (response.status < 200 || response.status >= 300 || !outgoing.dialog) return;
  const fork: Dialog = { ...outgoing.dialog, app: undefined, peer: undefined };
  learn({ ...outgoing, dialog: fork }, response, source);
  const hop = nextHop(core, fork);
  if (!hop) return;
  core.stack.send(dialogRequest(fork, 'ACK', outgoing.seq), hop);
  sendBye(core, fork, 'Call completed elsewhere');
  if (outgoing.dialog.app === undefined) core.dialogs.remove(outgoing.dialog);
}

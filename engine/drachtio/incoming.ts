import { randomUUID } from 'node:crypto';
import { listOf } from '../sip/grammar.ts';
import type { Source } from '../sip/hop.ts';
import { cseqOf, headerOf, headersOf, responseTo, type HeaderInput, type SipRequest } from '../sip/message.ts';
import type { ServerTransaction } from '../sip/transactions/server.ts';
import { parseNameAddr, tagOf } from '../sip/uri.ts';
import { announce, announceNew } from './announce.ts';
import type { App } from './app.ts';
import { callAnswered, callAttempted, callStopped } from './cdr.ts';
import { contactValue, localOf } from './complete.ts';
import { begunDialog, runHeld } from './dialogs.ts';
import { objectionTo } from './glare.ts';
import { endByServer } from './in-dialog.ts';
import { handOn, handOnAck, passesThrough } from './proxy/in-dialog.ts';
import type { Core, Dialog, Incoming } from './records.ts';
import { confirmedBy, relent } from './reliable.ts';
import { tooShort } from './session-timer.ts';
import { endsSubscription } from './subscriptions.ts';
import { contactOf, peerOfRequest } from './target.ts';

/** RFC 3261 8.2.2.1 */
const SCHEMES = /^(sips?|tel|urn):/i;
/** What applications may take; of other methods there is no doubt that none does. */
const METHODS = [
  ...['INVITE', 'ACK', 'CANCEL', 'BYE', 'OPTIONS', 'REGISTER', 'PRACK', 'SUBSCRIBE', 'NOTIFY', 'PUBLISH', 'INFO'],
  ...['REFER', 'MESSAGE', 'UPDATE'],
];
/** Methods that mean nothing outside a dialog (RFC 3261 15.1.2, RFC 3311, RFC 3262). */
const ONLY_IN_DIALOG = new Set(['BYE', 'UPDATE', 'PRACK']);
/** With an unknown To tag these too: their sender believes in a dialog we do not have. */
const NEEDS_DIALOG = new Set([...ONLY_IN_DIALOG, 'REFER', 'INVITE']);
/** Before the INVITE is answered these are no part of its dialog yet. */
const APART_WHILE_EARLY = new Set(['NOTIFY', 'OPTIONS', 'INFO', 'MESSAGE', 'PUBLISH', 'SUBSCRIBE']);

const answer = (transaction: ServerTransaction, status: number, headers: HeaderInput = {}): void =>
  transaction.respond(responseTo(transaction.request, status, undefined, headers));

/** A new request from the network: to its dialog, or to an application whose turn it is. */
export function receiveRequest(core: Core, transaction: ServerTransaction): void {
  const { request, source } = transaction;
  // A Call-ID becomes part of a meta line; the protocol has no way to escape this character.
  if (headerOf(request, 'call-id')?.includes('|')) return answer(transaction, 400);
  if (!SCHEMES.test(request.uri)) return answer(transaction, 416);
  const toTag = tagOf(headerOf(request, 'to'));
  const dialog = toTag === undefined ? undefined : dialogOf(core, request, toTag);
  if (dialog && request.method === 'INVITE') answer(transaction, 100);
  if (dialog) receiveInDialog(core, dialog, transaction);
  else if (passesThrough(core, request)) handOn(core, transaction);
  else if (ONLY_IN_DIALOG.has(request.method) || (toTag !== undefined && NEEDS_DIALOG.has(request.method)))
    answer(transaction, 481);
  else if (core.crowd.isFull(source)) turnAway(transaction);
  else if (!core.director.directs(transaction)) handTo(core, core.apps.next(request.method.toLowerCase()), transaction);
}

/** A request without a dialog into the hands of an application. */
export function handTo(core: Core, app: App | undefined, transaction: ServerTransaction): void {
  if (transaction.request.method === 'INVITE') receiveInvite(core, app, transaction);
  else receiveApart(core, app, transaction);
}

/** Over UDP without a word, which may be meant for somebody else; a sender who is there asks again soon. */
function turnAway(transaction: ServerTransaction): void {
  if (transaction.source.transport === 'udp') transaction.end();
  else answer(transaction, 503, { 'Retry-After': '5' });
}

function dialogOf(core: Core, request: SipRequest, toTag: string): Dialog | undefined {
  return core.dialogs.find(headerOf(request, 'call-id') ?? '', toTag, tagOf(headerOf(request, 'from')));
}

function receiveInvite(core: Core, app: App | undefined, transaction: ServerTransaction): void {
  const { request, source } = transaction;
  const twin = core.dialogs.byId(dialogId(request));
  // The same call by two ways (RFC 3261 8.2.2.2), or a second INVITE that forgot its To tag.
  if (twin) return answer(transaction, twin.state === 'confirmed' ? 491 : 482);
  // Nothing inside the dialog could be sent to who names no place (RFC 3261 8.1.1.8).
  if (contactOf(request) === undefined) return answer(transaction, 400);
  if (!app) return turnDown(core, transaction);
  const dialog = newDialog(app, transaction);
  const incoming = take(core, app, transaction, dialog);
  core.crowd.join(incoming);
  begin(core, dialog, incoming);
  announceNew(app, incoming.id, request, source);
  callAttempted(core, 'network', request);
}

/** Nobody is there to take the call. */
function turnDown(core: Core, transaction: ServerTransaction): void {
  const { request } = transaction;
  callAttempted(core, 'network', request);
  answer(transaction, 503);
  callStopped(core, 'application', 'call-rejected', responseTo(request, 503));
}

function begin(core: Core, dialog: Dialog, incoming: Incoming): void {
  dialog.begunBy = incoming;
  core.dialogs.add(dialog);
}

/** Requests without a dialog: handed over, and 503 when nobody wants them, 501 when nobody ever will (RFC 3261 8.2.1). */
function receiveApart(core: Core, app: App | undefined, transaction: ServerTransaction): void {
  const { request, source } = transaction;
  if (!app && !METHODS.includes(request.method)) return answer(transaction, 501, { Allow: METHODS.join(', ') });
  if (!app) return answer(transaction, 503);
  const begins = request.method === 'SUBSCRIBE' && !core.dialogs.byId(dialogId(request));
  const dialog = begins ? newDialog(app, transaction) : undefined;
  const incoming = take(core, app, transaction, dialog);
  core.crowd.join(incoming);
  if (dialog) begin(core, dialog, incoming);
  announceNew(app, incoming.id, request, source);
}

function receiveInDialog(core: Core, dialog: Dialog, transaction: ServerTransaction): void {
  const { app } = dialog;
  const { request, source } = transaction;
  if (!app?.alive) return receiveForNobody(core, dialog, transaction);
  const objection = objectionTo(dialog, request) ?? tooShort(core, request);
  if (objection) return answer(transaction, objection.status, objection.headers);
  if (dialog.state === 'early' && APART_WHILE_EARLY.has(request.method))
    return receiveEarly(core, dialog, app, transaction);
  const confirmed = request.method === 'PRACK' ? confirmedBy(dialog, request) : undefined;
  if (request.method === 'PRACK' && !confirmed) return answer(transaction, 481);
  refresh(dialog, transaction);
  const incoming = take(core, app, transaction, dialog);
  announce(app, incoming.id, dialog.id, request, source);
  if (confirmed) relent(core, confirmed);
  if (request.method === 'BYE') {
    callStopped(core, 'network', 'normal-release', request);
    receiveBye(core, dialog, incoming);
  }
  if (endsSubscription(dialog, request)) core.dialogs.remove(dialog);
}

/** A NOTIFY may overtake the answer to our SUBSCRIBE, and waits for it (RFC 6665 4.4.1); the rest is no part of a dialog. */
function receiveEarly(core: Core, dialog: Dialog, app: App, transaction: ServerTransaction): void {
  const waits =
    transaction.request.method === 'NOTIFY' && dialog.method === 'SUBSCRIBE' && dialog.begunBy === undefined;
  if (!waits) return receiveApart(core, app, transaction);
  if (dialog.held.length >= MOST_HELD) return answer(transaction, 500);
  dialog.held.push(() => {
    if (dialog.state === 'confirmed') receiveInDialog(core, dialog, transaction);
    else answer(transaction, 481);
  });
}

/** More NOTIFYs than this before the answer are no haste. */
const MOST_HELD = 10;

/** The application has gone: a BYE is welcome, the rest belongs to a dialog nobody holds. */
function receiveForNobody(core: Core, dialog: Dialog, transaction: ServerTransaction): void {
  const ending = transaction.request.method === 'BYE';
  if (ending) core.dialogs.remove(dialog);
  if (ending) callStopped(core, 'network', 'normal-release', transaction.request);
  answer(transaction, ending ? 200 : 481);
}

/** Target refresh (RFC 3261 12.2.2, RFC 3311 5.2). */
function refresh(dialog: Dialog, { request, source }: ServerTransaction): void {
  if (request.method !== 'INVITE' && request.method !== 'UPDATE') return;
  dialog.target = contactOf(request) ?? dialog.target;
  dialog.peer = peerOfRequest(dialog.routes, dialog.target, source);
}

/** The dialog ends at once; an INVITE that waits in it will get no better answer than 487 (RFC 3261 15.1.2). */
function receiveBye(core: Core, dialog: Dialog, bye: Incoming): void {
  dialog.begunBy?.transaction.relax();
  for (const other of core.incoming.values())
    if (other.dialog === dialog && other !== bye) answer(other.transaction, 487);
  core.dialogs.remove(dialog);
  core.alarms.set(`bye ${bye.id}`, 64 * core.stack.timers.T1, () => answer(bye.transaction, 500));
  bye.transaction.once('ended', () => core.alarms.clear(`bye ${bye.id}`));
}

const dialogId = (request: SipRequest): string =>
  `${headerOf(request, 'call-id') ?? ''};from-tag=${tagOf(headerOf(request, 'from')) ?? ''}`;

function newDialog(app: App, { request, source, localTag }: ServerTransaction): Dialog {
  const from = headerOf(request, 'from') ?? '';
  const routes = listOf(headersOf(request, 'record-route'));
  const target = contactOf(request) ?? parseNameAddr(from)?.uri ?? '';
  return begunDialog({
    ...{ id: dialogId(request), method: request.method, app, callId: headerOf(request, 'call-id') ?? '' },
    ...{ localTag, local: `${headerOf(request, 'to') ?? ''};tag=${localTag}` },
    ...{ remoteTag: tagOf(from), remote: from, remoteSeq: cseqOf(request)?.number ?? 0 },
    ...{ localSeq: cseqOf(request)?.number ?? 0, routes, target, peer: peerOfRequest(routes, target, source) },
    contact: contactValue(localOf(source)),
  });
}

/** Puts a request into an application's hands and watches what becomes of it. */
function take(core: Core, app: App, transaction: ServerTransaction, dialog: Dialog | undefined): Incoming {
  const { request, source } = transaction;
  const reliable = { agreed: false, rseq: 0, unconfirmed: undefined, waiting: [] };
  const state = { touched: false, acknowledged: false, ...reliable };
  const incoming: Incoming = { id: randomUUID(), transaction, request, source, app, dialog, ...state };
  core.incoming.set(incoming.id, incoming);
  app.incoming.add(incoming);
  transaction.once('ended', () => release(core, incoming));
  if (request.method === 'INVITE') watchInvite(core, incoming);
  return incoming;
}

/** Finally answered or given up: the application can say nothing more about it, and what it did not begin is gone. */
export function release(core: Core, incoming: Incoming): void {
  core.incoming.delete(incoming.id);
  core.crowd.leave(incoming);
  incoming.app.incoming.delete(incoming);
  core.alarms.clear(`silent ${incoming.id}`);
  relent(core, incoming);
  const { dialog } = incoming;
  if (dialog?.begunBy === incoming && dialog.state === 'early') core.dialogs.remove(dialog);
}

function watchInvite(core: Core, incoming: Incoming): void {
  const { transaction } = incoming;
  transaction.on('cancel', (request, source) => cancelled(core, incoming, request, source));
  transaction.on('timeout', () => unacknowledged(core, incoming));
  // An application that says nothing at all must not leave the caller in silence for ever.
  core.alarms.set(`silent ${incoming.id}`, 128 * core.stack.timers.T1, () => refuse(core, incoming, 480));
}

function cancelled(core: Core, incoming: Incoming, request: SipRequest, source: Source): void {
  const { dialog } = incoming;
  const begins = dialog?.begunBy === incoming;
  const known = incoming.touched || !begins;
  dismiss(core, incoming, 487);
  announce(incoming.app, incoming.id, (known && dialog?.id) || '', request, source);
  if (begins) callStopped(core, 'network', 'call-canceled', request);
}

/** Answers an INVITE with a failure of the server's own choice; a dialog that had not been confirmed ends with it. */
export function refuse(core: Core, incoming: Incoming, status: number): void {
  const begins = incoming.dialog?.begunBy === incoming;
  dismiss(core, incoming, status);
  if (begins) callAnswered(core, 'application', 'uas', responseTo(incoming.request, status));
}

function dismiss(core: Core, incoming: Incoming, status: number): void {
  answer(incoming.transaction, status);
  release(core, incoming);
}

/** RFC 3261 13.3.1.4: a 2xx without ACK ends the session; by the BYE of the application, if it waits already. */
function unacknowledged(core: Core, incoming: Incoming): void {
  const { dialog } = incoming;
  if (dialog?.state !== 'confirmed') return;
  incoming.acknowledged = true;
  if (dialog.held.length > 0) runHeld(dialog);
  else endByServer(core, dialog, 'ACK timeout');
}

/** The callee may not hang up before the ACK to its 2xx has come (RFC 3261 15). */
export const awaitsAck = ({ state, method, begunBy }: Dialog): boolean =>
  state === 'confirmed' && method === 'INVITE' && begunBy !== undefined && !begunBy.acknowledged;

/** ACK to a 2xx: announced under the INVITE's transaction the first time, under a new one when repeated. */
export function receiveAck(core: Core, request: SipRequest, source: Source): void {
  const toTag = tagOf(headerOf(request, 'to'));
  const dialog = toTag === undefined ? undefined : dialogOf(core, request, toTag);
  if (!dialog && passesThrough(core, request)) return handOnAck(core, request);
  if (!dialog?.app) return;
  const invite = dialog.begunBy;
  const first = invite && !invite.acknowledged && cseqOf(invite.request)?.number === cseqOf(request)?.number;
  if (first) invite.acknowledged = true;
  announce(dialog.app, first ? invite.id : randomUUID(), dialog.id, request, source);
  if (first) runHeld(dialog);
}

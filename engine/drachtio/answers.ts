import { header, headerOf, responseTo, type SipRequest, type SipResponse } from '../sip/message.ts';
import { isChallenge } from '../sip/transactions/server.ts';
import { tagOf } from '../sip/uri.ts';
import { echoResponse } from './announce.ts';
import type { App } from './app.ts';
import { callAnswered } from './cdr.ts';
import { contactValue, CONTENT_TYPE_MISSING, missingContentType, localOf, ownHeaders } from './complete.ts';
import { refuse, release } from './incoming.ts';
import type { Core, Dialog, Incoming } from './records.ts';
import { hasToWait, insist, isReliable, number, takesReliable } from './reliable.ts';
import { grant, prolong } from './session-timer.ts';
import { renew } from './subscriptions.ts';

/** What the server takes from the request or decides itself, whatever the application wrote. */
const DECIDED = new Set(['via', 'record-route', 'from', 'to', 'call-id', 'cseq', 'content-length', 'rseq']);

const UNKNOWN = 'Response not sent due to unknown transaction';

/** A response of the application to a request it was given. */
export function sendAnswer(core: Core, app: App, messageId: string, transactionId: string, given: SipResponse): void {
  const incoming = core.incoming.get(transactionId);
  if (!incoming || incoming.app !== app || incoming.transaction.answered) return app.nok(messageId, UNKNOWN);
  const objection = objectionTo(incoming, given);
  if (objection !== undefined) return app.nok(messageId, objection);
  if (hasToWait(incoming, given))
    return void incoming.waiting.push(() => sendAnswer(core, app, messageId, transactionId, given));
  const response = compose(core, incoming, given);
  const reliable = isReliable(incoming, given);
  if (reliable) number(incoming, response);
  incoming.touched = true;
  core.crowd.leave(incoming);
  core.alarms.clear(`silent ${incoming.id}`);
  incoming.transaction.respond(response);
  if (reliable) insist(core, incoming, response, () => refuse(core, incoming, 504));
  if (response.body.length > 0 && (reliable || given.status >= 200)) incoming.agreed = true;
  echoResponse(app, messageId, incoming.id, echoedDialog(incoming), response, incoming.source);
  if (given.status >= 200 && beginsCall(incoming)) callAnswered(core, 'application', 'uas', response);
  if (given.status >= 200) settle(core, incoming, response);
}

const beginsCall = (incoming: Incoming): boolean =>
  incoming.request.method === 'INVITE' && incoming.dialog?.begunBy === incoming;

function objectionTo(incoming: Incoming, given: SipResponse): string | undefined {
  if (missingContentType(given) === undefined) return CONTENT_TYPE_MISSING;
  const reliable = isReliable(incoming, given);
  return reliable && !takesReliable(incoming.request) ? 'Remote endpoint does not support 100rel' : undefined;
}

function compose(core: Core, incoming: Incoming, given: SipResponse): SipResponse {
  const { request, source } = incoming;
  const local = localOf(source);
  if (!incoming.touched) takeTag(core, incoming, tagOf(headerOf(given, 'to')));
  const response = responseTo(request, given.status, given.reason || undefined, { To: taggedTo(incoming) }, given.body);
  const own = ownHeaders(given, DECIDED, local);
  const hasContact = own.some(one => one.key === 'contact');
  if (!hasContact && wantsContact(incoming, given)) response.headers.push(header('Contact', ownContact(incoming)));
  response.headers.push(...own);
  const type = missingContentType(given);
  if (type) response.headers.push(header('Content-Type', type));
  const contact = headerOf(response, 'contact');
  if (incoming.dialog && contact !== undefined && request.method === 'INVITE') incoming.dialog.contact = contact;
  if (incoming.dialog && given.status >= 200) grant(core, incoming.dialog, request, response);
  return response;
}

/** A To tag of the application's own counts if it comes with the first response. */
function takeTag(core: Core, incoming: Incoming, tag: string | undefined): void {
  if (tag === undefined || tagOf(headerOf(incoming.request, 'to')) !== undefined) return;
  incoming.transaction.localTag = tag;
  if (incoming.dialog?.begunBy === incoming) core.dialogs.retag(incoming.dialog, tag);
}

function taggedTo(incoming: Incoming): string {
  const to = headerOf(incoming.request, 'to') ?? '';
  return tagOf(to) === undefined ? `${to};tag=${incoming.transaction.localTag}` : to;
}

const ownContact = ({ source, dialog }: Incoming): string => dialog?.contact ?? contactValue(localOf(source));

/** 2xx and reliable 1xx to INVITE, 2xx to UPDATE, every answer to SUBSCRIBE and re-INVITE; an ordinary 180 has none. */
function wantsContact(incoming: Incoming, given: SipResponse): boolean {
  const { status } = given;
  if (incoming.request.method === 'SUBSCRIBE' || isReliable(incoming, given)) return true;
  if (incoming.request.method === 'UPDATE') return status >= 200 && status < 300;
  if (incoming.request.method !== 'INVITE') return false;
  return (status >= 200 && status < 300) || (incoming.dialog?.begunBy !== incoming && status >= 200);
}

/** The field stays empty for BYE and for requests that have no dialog. */
const echoedDialog = (incoming: Incoming): string =>
  incoming.dialog && incoming.request.method !== 'BYE' ? incoming.dialog.id : '';

/** After the final response: a call stands or is gone, a registration's connection is remembered. */
function settle(core: Core, incoming: Incoming, response: SipResponse): void {
  const { dialog, request } = incoming;
  const success = response.status < 300;
  if (success && dialog?.begunBy === incoming) dialog.state = 'confirmed';
  if (success && dialog) lasts(core, dialog, request, response);
  if (success && request.method === 'REGISTER') core.registered.remember(request, response, incoming.source);
  if (isChallenge(response.status)) core.crowd.challenged(incoming.source, response);
  if (success) core.crowd.accepted(incoming.source, request);
  release(core, incoming);
}

/** A 2xx prolongs what runs out by itself, and tells what our media are. */
function lasts(core: Core, dialog: Dialog, request: SipRequest, response: SipResponse): void {
  const describes = request.method === 'INVITE' || request.method === 'UPDATE';
  if (describes && response.body.length > 0) dialog.description = response.body;
  renew(core, dialog, request, response);
  prolong(core, dialog, request.method, response, 'uas');
}

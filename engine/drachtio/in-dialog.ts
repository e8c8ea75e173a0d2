import { listOf } from '../sip/grammar.ts';
import type { Hop } from '../sip/hop.ts';
import { header, newRequest, type SipHeader, type SipRequest } from '../sip/message.ts';
import { alongRoutes } from '../sip/routes.ts';
import { announceBye } from './announce.ts';
import { callStopped, type Ending } from './cdr.ts';
import type { Core, Dialog } from './records.ts';
import { nextHop } from './target.ts';

/** Requests that must carry a Contact (RFC 3261 8.1.1.8, RFC 6665, RFC 3515, RFC 3311). */
const WITH_CONTACT = new Set(['INVITE', 'SUBSCRIBE', 'REFER', 'UPDATE']);

/** A request of ours inside a dialog (RFC 3261 12.2.1.1). `own` are further headers; a Contact among them is kept. */
export function dialogRequest(
  dialog: Dialog,
  method: string,
  seq: number,
  own: SipHeader[] = [],
  body: Buffer = Buffer.alloc(0),
): SipRequest {
  const { uri, routes } = alongRoutes(dialog.target, dialog.routes);
  const request = newRequest(method, uri, { Route: routes }, body);
  const limit = own.find(one => one.key === 'max-forwards') ?? header('Max-Forwards', '70');
  request.headers.push(limit, header('From', dialog.local), header('To', dialog.remote));
  request.headers.push(header('Call-ID', dialog.callId), header('CSeq', `${seq} ${method}`));
  if (WITH_CONTACT.has(method) && !own.some(one => one.key === 'contact'))
    request.headers.push(header('Contact', dialog.contact));
  request.headers.push(...own.filter(one => one !== limit));
  return request;
}

/** Ends a dialog with a BYE of the server's own. Its application, if still there, is told why. */
export function endByServer(
  core: Core,
  dialog: Dialog,
  reason: string,
  ending: Ending = 'system-initiated-termination',
): void {
  const app = dialog.app;
  core.dialogs.remove(dialog);
  const sent = sendBye(core, dialog, reason);
  if (app && sent) announceBye(core, app, dialog.id, sent.request, sent.hop);
  if (sent) callStopped(core, 'application', ending, sent.request);
}

/** The BYE itself; whatever comes of it, the dialog is over. */
export function sendBye(core: Core, dialog: Dialog, reason: string): { request: SipRequest; hop: Hop } | undefined {
  const hop = nextHop(core, dialog);
  if (!hop) return undefined;
  const why = [header('Reason', `SIP;cause=200;text="${reason}"`)];
  const transaction = core.stack.request(dialogRequest(dialog, 'BYE', ++dialog.localSeq, why), { nextHop: hop });
  return { request: transaction.request, hop };
}

/** Route set of the calling side: Record-Route of the response, reversed (RFC 3261 12.1.2). */
export const routesOfResponse = (values: string[]): string[] => listOf(values).toReversed();

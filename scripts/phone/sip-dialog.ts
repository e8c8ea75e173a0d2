import { parseNameAddress, parseUri, remoteOf, tagOf } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { cseq, header, headerList } from './sip-message.ts';
import type { SipHeader, SipMessage, SipRequest, SipResponse } from './sip-message.ts';

/** One dialog as RFC 3261 section 12 keeps it. */
export interface Dialog {
  call_id: string;
  localTag: string;
  remoteTag: string | undefined;
  /** From and To values without tags. */
  localAddress: string;
  remoteAddress: string;
  localSequence: number;
  remoteSequence: number;
  routes: string[];
  remoteTarget: string;
  /** Where the first message went to or came from; used when the remote target has no address of its own. */
  peer: Remote;
  secure: boolean;
}

export interface DialogStart {
  call_id: string;
  localTag: string;
  localAddress: string;
  remoteAddress: string;
  peer: Remote;
}

/** A dialog before its first request was answered, towards `target` (RFC 3261 section 12.1). */
export function newDialog(start: DialogStart, target: string): Dialog {
  return {
    ...start,
    remoteTag: undefined,
    localSequence: 0,
    remoteSequence: 0,
    routes: [],
    remoteTarget: target,
    secure: false,
  };
}

/** The caller's side learns tag, target and routes from a response (section 12.1.2). */
export function learnFromResponse(dialog: Dialog, response: SipResponse): void {
  dialog.remoteTag = tagOf(header(response, 'to')) ?? dialog.remoteTag;
  dialog.routes = headerList(response, 'record-route').reverse();
  refreshTarget(dialog, response);
}

/** The called side's dialog out of an INVITE (section 12.1.1). */
export function dialogFromInvite(request: SipRequest, localTag: string, peer: Remote): Dialog {
  const from = parseNameAddress(header(request, 'from') ?? '');
  const to = parseNameAddress(header(request, 'to') ?? '');
  const start = {
    call_id: header(request, 'call-id') ?? '',
    localTag,
    localAddress: `<${to.uri}>`,
    remoteAddress: from.display === '' ? `<${from.uri}>` : `"${from.display}" <${from.uri}>`,
    peer,
  };
  const dialog = newDialog(start, from.uri);
  dialog.remoteTag = from.params.get('tag');
  dialog.remoteSequence = cseq(request).number;
  dialog.routes = headerList(request, 'record-route');
  refreshTarget(dialog, request);
  return dialog;
}

/** A Contact in a target-refreshing message moves the remote target (section 12.2). */
export function refreshTarget(dialog: Dialog, message: SipMessage): void {
  const contact = headerList(message, 'contact')[0];
  if (contact !== undefined) dialog.remoteTarget = parseNameAddress(contact).uri;
}

/** A request within the dialog, without Via and Contact (section 12.2.1.1). ACK and CANCEL keep the sequence they are given. */
export function requestWithin(
  dialog: Dialog,
  method: string,
  extra: SipHeader[] = [],
  body = '',
  sequence?: number,
): SipRequest {
  const number = sequence ?? (dialog.localSequence += 1);
  const tag = dialog.remoteTag === undefined ? '' : `;tag=${dialog.remoteTag}`;
  const headers = [
    { name: 'max-forwards', value: '70' },
    { name: 'from', value: `${dialog.localAddress};tag=${dialog.localTag}` },
    { name: 'to', value: `${dialog.remoteAddress}${tag}` },
    { name: 'call-id', value: dialog.call_id },
    { name: 'cseq', value: `${number} ${method}` },
    ...dialog.routes.map(value => ({ name: 'route', value })),
    ...extra,
  ];
  return { kind: 'request', method, uri: dialog.remoteTarget, headers, body };
}

/** Where a request of this dialog goes: first route, else remote target, else the peer (names are not looked up). */
export function nextHop(dialog: Dialog): Remote {
  const uri = dialog.routes[0] === undefined ? dialog.remoteTarget : parseNameAddress(dialog.routes[0]).uri;
  const remote = remoteOf(parseUri(uri));
  return /^[\d.]+$|:/.test(remote.host) ? remote : dialog.peer;
}

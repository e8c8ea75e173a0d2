import { isIP } from 'node:net';
import { hopOfSource, hopOfUri, type Hop, type Source } from '../sip/hop.ts';
import { listOf } from '../sip/grammar.ts';
import { headersOf, type SipMessage } from '../sip/message.ts';
import { parseNameAddr, parseUri } from '../sip/uri.ts';
import type { Core, Dialog } from './records.ts';

const PRIVATE = /^(10\.|127\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;

/** The URI of the first Contact; undefined without a usable one. */
export const contactOf = (message: SipMessage): string | undefined =>
  parseNameAddr(listOf(headersOf(message, 'contact'))[0] ?? '')?.uri;

/** Where in-dialog requests go although the caller's Contact says otherwise: his NAT, or his open stream. */
export function peerOfRequest(routes: string[], target: string, source: Source): Hop | undefined {
  if (source.transport !== 'udp') return hopOfSource(source);
  if (routes.length > 0) return undefined;
  return parseUri(target)?.host === source.address ? undefined : hopOfSource(source);
}

/** The same for the side that was called; a private first route does not count as one. */
export function peerOfResponse(routes: string[], target: string, source: Source): Hop | undefined {
  if (source.transport !== 'udp') return hopOfSource(source);
  const route = routes[0] === undefined ? undefined : parseUri(parseNameAddr(routes[0])?.uri ?? '')?.host;
  if (route !== undefined && !(PRIVATE.test(route) && route !== source.address)) return undefined;
  const host = parseUri(target)?.host ?? '';
  return host === source.address || (isIP(host) === 0 && host.endsWith('localhost')) ? undefined : hopOfSource(source);
}

/** Next hop of a request inside a dialog; undefined when its target cannot be reached by any transport of ours. */
export function nextHop(core: Core, dialog: Dialog): Hop | undefined {
  if (dialog.peer && core.stack.connected(dialog.peer)) return dialog.peer;
  const route = dialog.routes[0] === undefined ? undefined : parseNameAddr(dialog.routes[0])?.uri;
  return (route === undefined ? core.registered.hopFor(dialog.target) : undefined) ?? hopOfUri(route ?? dialog.target);
}

import { formatHostPort, listOf } from '../../sip/grammar.ts';
import { hopOfUri, type Hop, type Source } from '../../sip/hop.ts';
import { header, headerOf, headersOf, type SipHeader, type SipRequest, type SipResponse } from '../../sip/message.ts';
import { parseNameAddr } from '../../sip/uri.ts';
import { routesOf } from '../../sip/routes.ts';
import type { SipStack } from '../../sip/stack.ts';

/** Messages as a proxy changes them on their way (RFC 3261 16.6 and 16.7). */

const hopOfRoute = (route: string | undefined): Hop | undefined =>
  route === undefined ? undefined : hopOfUri(parseNameAddr(route)?.uri ?? '');

/** Whether the topmost Route names us: the request follows a Record-Route of ours, or was given us as its way. */
export function isRoutedHere(stack: SipStack, request: SipRequest): boolean {
  const hop = hopOfRoute(routesOf(request)[0]);
  return hop !== undefined && stack.isSelf(hop);
}

/** Whether a strict router before us has put our Record-Route into the request URI, and the target last (RFC 3261 16.4). */
export function isStrictlyRouted(stack: SipStack, request: SipRequest): boolean {
  const hop = hopOfUri(request.uri);
  return hop !== undefined && stack.isSelf(hop) && routesOf(request).length > 0;
}

/** Undoes what a strict router did. */
export function restoreTarget(stack: SipStack, request: SipRequest): void {
  if (!isStrictlyRouted(stack, request)) return;
  const routes = routesOf(request);
  request.uri = parseNameAddr(routes.pop() ?? '')?.uri ?? request.uri;
  request.headers = request.headers.filter(one => one.key !== 'route');
  request.headers.push(...routes.map(one => header('Route', one)));
}

/** The Route set without ourselves (RFC 3261 16.4); a double Record-Route leaves us in it twice (RFC 5658). */
function remainingRoutes(stack: SipStack, request: SipRequest): string[] {
  const routes = routesOf(request);
  while (routes.length > 0) {
    const hop = hopOfRoute(routes[0]);
    if (!hop || !stack.isSelf(hop)) break;
    routes.shift();
  }
  return routes;
}

const hopsLeft = (request: SipRequest): number => {
  const given = headerOf(request, 'max-forwards');
  return given !== undefined && /^\d{1,3}$/.test(given) ? Number(given) : 70;
};

/** A request that nobody may send on any further: it gets 483 (RFC 3261 16.3 step 3). */
export const hasTooManyHops = (request: SipRequest): boolean => hopsLeft(request) === 0;

/** A copy to send on: one hop less, our Routes gone, the URI the target's. Via and Record-Route come later. */
export function copyFor(stack: SipStack, request: SipRequest, uri: string, extra: SipHeader[] = []): SipRequest {
  const replaced = new Set(extra.map(one => one.key));
  const kept = request.headers.filter(one => !DECIDED.has(one.key) && !replaced.has(one.key));
  const routes = remainingRoutes(stack, request).map(one => header('Route', one));
  const limit = header('Max-Forwards', String(hopsLeft(request) - 1));
  return { ...request, uri, headers: [...kept, limit, ...routes, ...extra] };
}

const DECIDED = new Set(['route', 'max-forwards', 'content-length']);

/** Where such a copy goes: to its first Route, else to its URI. */
export const wayOf = (request: SipRequest, known: (uri: string) => Hop | undefined): Hop | undefined =>
  hopOfRoute(routesOf(request)[0]) ?? known(request.uri) ?? hopOfUri(request.uri);

/** Our Record-Route, and a second one where a request comes in by another way than it goes out (RFC 5658). */
export function recordRoute(stack: SipStack, request: SipRequest, source: Source, hop: Hop): void {
  const out = stack.localFor(hop);
  const cameBy = { transport: source.transport, host: source.localAddress, port: source.localPort };
  const own = [...(out ? [routeTo(out)] : []), routeTo(cameBy)];
  const at = request.headers.findIndex(one => one.key === 'record-route');
  request.headers.splice(Math.max(at, 0), 0, ...[...new Set(own)].map(one => header('Record-Route', one)));
}

const routeTo = ({ transport, host, port }: Hop): string =>
  `<sip:${formatHostPort(host, port)}${transport === 'udp' ? '' : `;transport=${transport}`};lr>`;

/** A response to hand on: without our Via, which is the topmost (RFC 3261 16.7 step 3); undefined when no other is left. */
export function withoutOwnVia(response: SipResponse): SipResponse | undefined {
  const vias = listOf(headersOf(response, 'via'));
  if (vias.length < 2) return undefined;
  const others = response.headers.filter(one => one.key !== 'via');
  return { ...response, headers: [...vias.slice(1).map(one => header('Via', one)), ...others] };
}

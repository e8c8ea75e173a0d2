import { listOf } from './grammar.ts';
import { header, headersOf, type SipRequest } from './message.ts';
import { parseNameAddr, parseUri } from './uri.ts';

/** The values of all Route headers, topmost first. */
export const routesOf = (request: SipRequest): string[] => listOf(headersOf(request, 'route'));

/**
 * Request URI and Route values on the wire: a first route without `lr` is a strict router and takes the place of the URI,
 * which goes last (RFC 3261 12.2.1.1 and 16.6 step 6).
 */
export function alongRoutes(uri: string, routes: string[]): { uri: string; routes: string[] } {
  const first = routes[0] === undefined ? undefined : parseNameAddr(routes[0])?.uri;
  if (first === undefined || parseUri(first)?.params.has('lr')) return { uri, routes };
  return { uri: first, routes: [...routes.slice(1), `<${uri}>`] };
}

/** The same for a request that is complete but for that. */
export function putAlongRoutes(request: SipRequest): void {
  const { uri, routes } = alongRoutes(request.uri, routesOf(request));
  if (uri === request.uri) return;
  request.uri = uri;
  request.headers = request.headers.filter(one => one.key !== 'route');
  request.headers.push(...routes.map(one => header('Route', one)));
}

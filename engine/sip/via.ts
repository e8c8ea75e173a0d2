import { formatHostPort, formatParams, parseHostPort, parseParams, splitOutside } from './grammar.ts';
import { header, headerOf, type SipMessage, type SipRequest } from './message.ts';

/** One Via entry. */
export interface Via {
  /** In upper case, `UDP`. */
  transport: string;
  host: string;
  port?: number;
  params: Map<string, string>;
}

/** One Via entry, `SIP/2.0/UDP host:port;branch=…` (RFC 3261 20.42); undefined when malformed. */
export function parseVia(entry: string): Via | undefined {
  const at = entry.indexOf(';');
  const words = (at < 0 ? entry : entry.slice(0, at)).trim().split(/\s*\/\s*|\s+/);
  const [name, version, transport, ...place] = words;
  const sentBy = parseHostPort(place.join(''));
  if (name?.toUpperCase() !== 'SIP' || version !== '2.0' || !transport || !sentBy) return undefined;
  return { transport: transport.toUpperCase(), ...sentBy, params: parseParams(at < 0 ? '' : entry.slice(at + 1)) };
}

/** The value of a Via header. */
export const formatVia = (via: Via): string =>
  `SIP/2.0/${via.transport} ${formatHostPort(via.host, via.port)}${formatParams(via.params)}`;

/** The topmost Via; undefined when absent or malformed. */
export function topVia(message: SipMessage): Via | undefined {
  const value = headerOf(message, 'via');
  const first = value === undefined ? undefined : splitOutside(value, ',')[0];
  return first === undefined ? undefined : parseVia(first);
}

/**
 * Writes `received` and `rport` into the topmost Via (RFC 3261 18.2.1, RFC 3581). rport is noted even when it was not
 * asked for: a phone behind NAT that forgot to ask can be reached no other way.
 */
export function stampVia(request: SipRequest, address: string, port: number): void {
  const at = request.headers.findIndex(one => one.key === 'via');
  const value = request.headers[at]?.value;
  const [first = '', ...rest] = value === undefined ? [] : splitOutside(value, ',');
  const via = parseVia(first);
  if (!via) return;
  if (via.host !== address) via.params.set('received', address);
  via.params.set('rport', String(port));
  request.headers[at] = header('Via', [formatVia(via), ...rest].join(', '));
}

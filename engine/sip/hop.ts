import { lookup, resolveSrv } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { listOf } from './grammar.ts';
import { headersOf, type SipRequest } from './message.ts';
import { parseNameAddr, parseUri } from './uri.ts';

/** TLS is SIP over TLS over TCP; WS and WSS are SIP over WebSocket (RFC 7118). */
export type Transport = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss';

const TRANSPORTS: ReadonlySet<string> = new Set<Transport>(['udp', 'tcp', 'tls', 'ws', 'wss']);
const isTransport = (text: string): text is Transport => TRANSPORTS.has(text);

/** What a transport is called when it has to be secure (RFC 3261 26.2.2, RFC 7118 5.2.4); UDP cannot be. */
const SECURE: Partial<Record<string, Transport>> = { tcp: 'tls', tls: 'tls', ws: 'wss', wss: 'wss' };

/** Where a message goes next. `host` may be a name; port 0 means the default of the name or the transport. */
export interface Hop {
  transport: Transport;
  host: string;
  port: number;
  /** The name `host` was resolved from, which the certificate of a TLS peer has to bear (RFC 5922 7.2). */
  name?: string;
}

/** Where a message came from and on which of our addresses it arrived. `size` is in bytes. */
export interface Source {
  transport: Transport;
  address: string;
  port: number;
  localAddress: string;
  localPort: number;
  size: number;
}

/** The port of a URI that names none (RFC 3261 19.1.2, RFC 7118 5.2.4). */
export function defaultPort(transport: Transport): number {
  if (transport === 'ws') return 80;
  if (transport === 'wss') return 443;
  return transport === 'tls' ? 5061 : 5060;
}

/** The hop a SIP URI names (RFC 3263 4.1), or undefined for tel and transports we do not know. */
export function hopOfUri(text: string, wanted?: Transport): Hop | undefined {
  const uri = parseUri(text);
  if (uri === undefined || uri.scheme === 'tel') return undefined;
  const named = uri.params.get('transport')?.toLowerCase() || undefined;
  const transport = wanted ?? (uri.scheme === 'sips' ? SECURE[named ?? 'tcp'] : (named ?? 'udp'));
  if (transport === undefined || !isTransport(transport)) return undefined;
  return { transport, host: uri.params.get('maddr') || uri.host, port: uri.port ?? 0 };
}

/** Topmost Route, else the request URI (RFC 3261 8.1.2). */
export function hopOfRequest(request: SipRequest, wanted?: Transport): Hop | undefined {
  const route = listOf(headersOf(request, 'route'))[0];
  const uri = route === undefined ? request.uri : parseNameAddr(route)?.uri;
  return uri === undefined ? undefined : hopOfUri(uri, wanted);
}

const isLocalName = (host: string): boolean => /^(.+\.)?localhost\.?$/i.test(host);

/** The address known without asking anybody: literals, and localhost names, which RFC 6761 6.3 fixes. */
export function literalOf(host: string): string | undefined {
  if (isIPv6(host)) return host.includes('%') ? host : new URL(`http://[${host}]`).hostname.slice(1, -1);
  if (isIP(host) !== 0) return host;
  return isLocalName(host) ? '127.0.0.1' : undefined;
}

/** A hop with address and port (RFC 3263: SRV when no port is given, then A or AAAA). Rejects when the name is unknown. */
export async function resolveHop(hop: Hop): Promise<Hop> {
  const literal = literalOf(hop.host);
  if (literal !== undefined) return { ...hop, host: literal, port: hop.port || defaultPort(hop.transport) };
  const named = hop.port === 0 ? await serviceOf(hop) : hop;
  const found = await lookup(named.host, { family: 4 });
  return { ...hop, name: hop.host, host: found.address, port: named.port || defaultPort(hop.transport) };
}

const REMEMBER_MS = 30_000;
const MOST_NAMES = 1000;
const names = new Map<string, { at: number; found: Promise<Hop> }>();

/** resolveHop with a memory of half a minute, so that repeats and the ACK of a request go where the request went. */
export function resolveHopOnce(hop: Hop): Promise<Hop> {
  const key = `${hop.transport} ${hop.host}:${hop.port}`;
  const known = names.get(key);
  if (known && Date.now() - known.at < REMEMBER_MS) return known.found;
  if (names.size >= MOST_NAMES) names.clear();
  const found = resolveHop(hop);
  names.set(key, { at: Date.now(), found });
  return found;
}

/** RFC 3263 4.1, RFC 7118 5.2.4. */
const SERVICE: Readonly<Record<Transport, string>> = {
  ...{ udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp', ws: '_sip._ws', wss: '_sips._ws' },
};

async function serviceOf(hop: Hop): Promise<{ host: string; port: number }> {
  // A name without SRV records is the ordinary case, and the A record answers for it.
  const records = await resolveSrv(`${SERVICE[hop.transport]}.${hop.host}`).catch(() => []);
  const best = records.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)[0];
  return best ? { host: best.name, port: best.port } : hop;
}

import { lookup, resolveSrv } from 'node:dns/promises';
import { isIP } from 'node:net';
import { listOf } from './grammar.ts';
import { headersOf, type SipRequest } from './message.ts';
import { parseNameAddr, parseUri } from './uri.ts';

export type Transport = 'udp' | 'tcp';

/** Where a message goes next. `host` may be a name; port 0 means the default of the name or the transport. */
export interface Hop {
  transport: Transport;
  host: string;
  port: number;
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

export const DEFAULT_PORT = 5060;

/** The hop a SIP URI names (RFC 3263 4.1), or undefined for tel, sips and transports we do not speak. */
export function hopOfUri(text: string, wanted?: Transport): Hop | undefined {
  const uri = parseUri(text);
  if (uri?.scheme !== 'sip') return undefined;
  const transport = wanted ?? (uri.params.get('transport')?.toLowerCase() || 'udp');
  if (transport !== 'udp' && transport !== 'tcp') return undefined;
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
  if (isIP(host) !== 0) return host;
  return isLocalName(host) ? '127.0.0.1' : undefined;
}

/** A hop with address and port (RFC 3263: SRV when no port is given, then A or AAAA). Rejects when the name is unknown. */
export async function resolveHop(hop: Hop): Promise<Hop> {
  const literal = literalOf(hop.host);
  if (literal !== undefined) return { ...hop, host: literal, port: hop.port || DEFAULT_PORT };
  const named = hop.port === 0 ? await serviceOf(hop) : hop;
  const found = await lookup(named.host, { family: 4 });
  return { ...hop, host: found.address, port: named.port || DEFAULT_PORT };
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

async function serviceOf(hop: Hop): Promise<{ host: string; port: number }> {
  // A name without SRV records is the ordinary case, and the A record answers for it.
  const records = await resolveSrv(`_sip._${hop.transport}.${hop.host}`).catch(() => []);
  const best = records.toSorted((a, b) => a.priority - b.priority || b.weight - a.weight)[0];
  return best ? { host: best.name, port: best.port } : hop;
}

import { isIP, isIPv6 } from 'node:net';
import type { SipRequest } from './message.ts';
import { routesOf } from './routes.ts';
import { parseNameAddr, parseUri } from './uri.ts';

/** TLS is SIP over TLS over TCP; WS and WSS are SIP over WebSocket (RFC 7118). */
export type Transport = 'udp' | 'tcp' | 'tls' | 'ws' | 'wss';

const TRANSPORTS: ReadonlySet<string> = new Set<Transport>(['udp', 'tcp', 'tls', 'ws', 'wss']);
/** Whether it is the name of one, in lower case. */
export const isTransport = (text: string): text is Transport => TRANSPORTS.has(text);

/** What a transport is called when it has to be secure (RFC 3261 26.2.2, RFC 7118 5.2.4); UDP cannot be. */
const SECURE: Partial<Record<string, Transport>> = { tcp: 'tls', tls: 'tls', ws: 'wss', wss: 'wss' };

/** Where a message goes next. `host` may be a name; port 0 means the default of the name or the transport. */
export interface Hop {
  transport: Transport;
  host: string;
  port: number;
  /** Its URI says neither transport nor port: the name's own records may choose another transport (RFC 3263 4.1). */
  open?: boolean;
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

/** Where what comes from there is answered to. */
export const hopOfSource = ({ transport, address, port }: Source): Hop => ({ transport, host: address, port });

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
  const host = uri.params.get('maddr') || uri.host;
  const open = wanted === undefined && named === undefined && uri.port === undefined && literalOf(host) === undefined;
  return { transport, host, port: uri.port ?? 0, ...(open && { open }) };
}

/** Topmost Route, else the request URI (RFC 3261 8.1.2). */
export function hopOfRequest(request: SipRequest, wanted?: Transport): Hop | undefined {
  const route = routesOf(request)[0];
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

/** The same hop at that address, with a port (RFC 3261 19.1.2). */
export const addressed = ({ transport, port, name }: Hop, address: string): Hop => ({
  ...{ transport, host: address, port: port || defaultPort(transport) },
  ...(name !== undefined && { name }),
});

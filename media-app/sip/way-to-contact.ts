import type { Contact } from '#contract/registration';
import { isAddress, parseSipUri } from './uri.ts';

/** How a request reaches a registered phone. */
export interface ContactWay {
  uri: string;
  transport: string;
  /** Next hop; empty when it is where the URI points. */
  proxy: string;
  sip_server: string;
  /** The Route, when it registered through proxies. */
  headers: Record<string, string>;
}

/**
 * A phone is reached at its contact, through the proxies it registered by (RFC 3327). The next hop is where the REGISTER
 * came from, when the address names another host (NAT) or there is a connection (RFC 5626, RFC 7118): so no registration
 * can make us send to a third party.
 */
export const wayToContact = ({ uri, path, source, sip_server }: Contact): ContactWay => {
  const first = path[0] === undefined ? uri : path[0].slice(1, -1);
  const host = parseSipUri(first)?.host;
  const { address, port, transport } = source;
  const reachable = transport === 'udp' && host !== undefined && isAddress(host) && host === address;
  const sourceHost = address.includes(':') ? `[${address}]` : address;
  const sourceUri = `sip:${sourceHost}:${port}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  const proxy = reachable ? (path.length ? first : '') : sourceUri;
  return { uri, transport, proxy, sip_server, headers: path.length ? { Route: path.join(', ') } : {} };
};

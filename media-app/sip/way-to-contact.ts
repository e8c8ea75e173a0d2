import type { Contact } from '#contract/registration';
import { isAddress, parseSipUri } from './uri.ts';

/** How a request reaches a registered phone. */
export interface ContactWay {
  /** Its contact, with the Route in it when it registered through proxies. */
  uri: string;
  transport: string;
  /** Next hop; empty when it is where the URI points. */
  proxy: string;
  sip_server: string;
  /** Who is meant, without the Route. */
  headers: { To: string };
}

/**
 * A phone is reached at its contact, through the proxies it registered by (RFC 3327). The next hop is where the REGISTER
 * came from, when the address names another host (NAT) or there is a connection (RFC 5626, RFC 7118): so no registration
 * can make us send to a third party. The Route travels in the URI (RFC 3261 section 19.1.5) and the SIP server takes it
 * out: one given as a header is not sent on by drachtio-server.
 */
export const wayToContact = ({ uri, path, source, sip_server }: Contact): ContactWay => {
  const first = path[0] === undefined ? uri : path[0].slice(1, -1);
  const host = parseSipUri(first)?.host;
  const { address, port, transport } = source;
  const reachable = transport === 'udp' && host !== undefined && isAddress(host) && host === address;
  const sourceHost = address.includes(':') ? `[${address}]` : address;
  const sourceUri = `sip:${sourceHost}:${port}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  const proxy = reachable ? (path.length ? first : '') : sourceUri;
  const route = path.length ? `?Route=${encodeURIComponent(path.join(', '))}` : '';
  return { uri: `${uri}${route}`, transport, proxy, sip_server, headers: { To: `<${uri}>` } };
};

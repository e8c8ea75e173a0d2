import { type Address, extensionKey } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { telWay } from '../carrier/tel-way.ts';
import type { Services } from '../services.ts';
import type { Contact } from '../sip/contacts.ts';
import type { DialTarget } from '../sip/outgoing-leg.ts';
import { isAddress, parseSipUri } from '../sip/uri.ts';
import { callerHeaders } from './caller-id.ts';
import type { Dial } from './dialer.ts';
import { RefusedDestination } from './refusal.ts';

/** Where one destination leads: one call, all phones of an extension, or the addresses of an agent (voice-and-flows 9.2). */
export type Way =
  | { kind: 'call'; targets: DialTarget[]; /** Who calls instead of the source asked for. */ source?: Address }
  | { kind: 'phones'; targets: DialTarget[] }
  | { kind: 'agent'; ring_method: 'ring_all' | 'linear'; addresses: Address[]; dials: Dial[] };

/** What a way is looked for with. */
export interface Lookup {
  services: Services;
  customer_id: string;
  source: Address;
  destination: Address;
  withheld: boolean;
  /** Telephone numbers go through this provider and no other. */
  provider_id?: string | undefined;
  /** Codecs that the customer wants at SIP addresses, the best first. */
  codecs: string;
}

/**
 * A phone is reached at its contact, through the proxies it registered by (RFC 3327). The next hop is where the REGISTER
 * came from, when the address names another host (NAT) or there is a connection (RFC 5626, RFC 7118): so no registration
 * can make us send to a third party.
 */
const targetOf = (contact: Contact, headers: Record<string, string>): DialTarget => {
  const { path = [] } = contact;
  const first = path[0] === undefined ? contact.uri : path[0].slice(1, -1);
  const uri = parseSipUri(first);
  const { address, port, transport } = contact.source;
  const reachable = transport === 'udp' && uri !== undefined && isAddress(uri.host) && uri.host === address;
  const host = address.includes(':') ? `[${address}]` : address;
  const source = `sip:${host}:${port}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  const proxy = reachable ? (path.length ? first : '') : source;
  const route: Record<string, string> = path.length ? { Route: path.join(', ') } : {};
  return { uri: contact.uri, transport, proxy, sip_server: contact.sip_server, headers: { ...headers, ...route } };
};

/** Of several ways to one device the newest; a device is not rung twice (RFC 5626 section 7). */
const oneWayEach = (contacts: Contact[]): Contact[] => {
  const newest = new Map(contacts.map(contact => [contact.flow?.instance ?? contact.uri, contact])); // oldest come first
  return contacts.filter(contact => newest.get(contact.flow?.instance ?? contact.uri) === contact);
};

const sipWay = ({ services, source, destination, withheld, codecs }: Lookup): Way => {
  // Headers in a URI (`?Route=…`) would become headers of our INVITE (RFC 3261 section 19.1.5): nobody may set those.
  const uri = parseSipUri(destination.target);
  if (/[\s<>"?]/.test(destination.target) || !uri)
    throw new PlatformError('INVALID_ARGUMENT', `${destination.target} is not a SIP URI.`);
  const headers = callerHeaders(source, services.settings.SIP_DOMAIN, withheld);
  return {
    kind: 'call',
    targets: [{ uri: destination.target, transport: uri.transport, proxy: '', sip_server: '', headers, codecs }],
  };
};

const extensionWay = async ({ services, customer_id, source, destination, withheld }: Lookup): Promise<Way> => {
  const key = extensionKey(destination);
  const extension = await services.directory.extensionByKey(customer_id, key);
  if (!extension) throw new PlatformError('INVALID_ARGUMENT', `There is no extension ${key}.`);
  const contacts = await services.contacts.list(extension.id);
  if (!contacts.length)
    throw new RefusedDestination('INVALID_ARGUMENT', 'no_answer', `Extension ${key} is not registered.`);
  const headers = callerHeaders(source, extension.domain_name, withheld);
  return { kind: 'phones', targets: oneWayEach(contacts).map(contact => targetOf(contact, headers)) };
};

/**
 * Resolves a destination to what is dialled; agents are the dialer's, because their addresses are destinations.
 * @throws PlatformError INVALID_ARGUMENT when nothing leads there, naming what is missing
 */
export const wayTo = async (lookup: Lookup): Promise<Way> => {
  const { type, target } = lookup.destination;
  if (type === 'sip') return sipWay(lookup);
  if (type === 'extension') return extensionWay(lookup);
  if (type === 'tel') return telWay(lookup);
  throw new PlatformError('INVALID_ARGUMENT', `No route leads to ${type} ${target}.`);
};

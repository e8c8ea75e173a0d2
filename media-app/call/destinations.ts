import { type Address, extensionKey } from '#contract/address';
import { PlatformError } from '#contract/errors';
import type { Contact } from '#contract/registration';
import { telWay } from '../carrier/tel-way.ts';
import type { Services } from '../services.ts';
import type { DialTarget } from '../sip/outgoing-leg.ts';
import { parseSipUri } from '../sip/uri.ts';
import { wayToContact } from '../sip/way-to-contact.ts';
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

/** A contact that stands on a connection is taken away with it, should the SIP server not have told (RFC 5626 section 5.3). */
const targetOf = (contact: Contact, headers: Record<string, string>, remove: (lost: Contact) => void): DialTarget => {
  const way = wayToContact(contact);
  const lost = contact.source.transport === 'udp' ? {} : { lost: () => remove(contact) };
  return { ...way, ...lost, headers: { ...headers, ...way.headers } };
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
  const headers = callerHeaders(source, extension.domain_name, withheld);
  const remove = (contact: Contact): void =>
    void services.contacts
      .remove(extension.id, contact, 'connection_lost')
      .catch((error: unknown) =>
        services.log.warn({ extension_id: extension.id, error: String(error) }, 'a lost phone stays registered'),
      );
  // A connection is gone with the SIP server that held it; its phone will register anew.
  const targets = oneWayEach(contacts)
    .map(contact => targetOf(contact, headers, remove))
    .filter(target => services.sip.towards(target));
  if (!targets.length)
    throw new RefusedDestination('INVALID_ARGUMENT', 'no_answer', `Extension ${key} is not registered.`);
  return { kind: 'phones', targets };
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

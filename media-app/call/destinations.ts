import { type Address, extensionKey } from '#contract/address';
import { PlatformError } from '#contract/errors';
import type { Services } from '../services.ts';
import type { Contact } from '../sip/contacts.ts';
import type { DialTarget } from '../sip/outgoing-leg.ts';
import { escapeUser, isAddress, parseSipUri, quoted } from '../sip/uri.ts';

/** Where one destination leads: a single call, or a group of legs rung at once (voice-and-flows 9.2). */
export interface Route {
  kind: 'call' | 'groupcall';
  targets: DialTarget[];
}

/** The From header a callee sees: the source's name and number, under a domain where calling back makes sense. */
const fromHeader = (source: Address, domain: string): string => {
  const uri = source.type === 'sip' ? parseSipUri(source.target) : undefined;
  const user = uri?.user || source.target;
  const name = source.target_name || source.name || user;
  return `${quoted(name)} <sip:${escapeUser(user)}@${uri?.host ?? domain}>`;
};

const headersOf = (source: Address, domain: string): Record<string, string> => ({
  from: fromHeader(source, domain),
  contact: '<sip:trunkline@localhost>',
});

/** A phone is reached at its contact; at where it registered from when the contact names another host (NAT). */
const targetOf = (contact: Contact, headers: Record<string, string>): DialTarget => {
  const uri = parseSipUri(contact.uri);
  const { address, port, transport } = contact.source;
  const reachable = uri !== undefined && isAddress(uri.host) && uri.host === address;
  const proxy = `sip:${address}:${port}${transport === 'udp' ? '' : `;transport=${transport}`}`;
  return { uri: contact.uri, proxy: reachable ? '' : proxy, sip_server: contact.sip_server, headers };
};

/**
 * Resolves a destination to what is dialled.
 * @throws PlatformError INVALID_ARGUMENT when it cannot be dialled, naming what is missing
 */
export const route = async (
  services: Services,
  customerId: string,
  source: Address,
  destination: Address,
): Promise<Route> => {
  switch (destination.type) {
    case 'sip':
      return sipRoute(services, source, destination);
    case 'extension':
      return extensionRoute(services, customerId, source, destination);
    default:
      throw new PlatformError('INVALID_ARGUMENT', `A destination of type ${destination.type} cannot be dialled.`);
  }
};

const sipRoute = (services: Services, source: Address, destination: Address): Route => {
  // Headers in a URI (`?Route=…`) would become headers of our INVITE (RFC 3261 section 19.1.5): nobody may set those.
  if (/[\s<>"?]/.test(destination.target) || !parseSipUri(destination.target))
    throw new PlatformError('INVALID_ARGUMENT', `${destination.target} is not a SIP URI.`);
  const headers = headersOf(source, services.settings.SIP_DOMAIN);
  return { kind: 'call', targets: [{ uri: destination.target, proxy: '', sip_server: '', headers }] };
};

const extensionRoute = async (
  services: Services,
  customerId: string,
  source: Address,
  destination: Address,
): Promise<Route> => {
  const key = extensionKey(destination);
  const extension = await services.directory.extensionByKey(customerId, key);
  if (!extension) throw new PlatformError('INVALID_ARGUMENT', `There is no extension ${key}.`);
  const contacts = await services.contacts.list(extension.id);
  if (!contacts.length) throw new PlatformError('INVALID_ARGUMENT', `Extension ${key} is not registered.`);
  const headers = headersOf(source, extension.domain_name);
  return { kind: 'groupcall', targets: contacts.map(contact => targetOf(contact, headers)) };
};

import { type Address, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { RefusedDestination } from '../call/refusal.ts';
import { callerHeaders } from '../call/caller-id.ts';
import type { Lookup, Way } from '../call/destinations.ts';
import type { DialTarget } from '../sip/outgoing-leg.ts';
import { placeOf } from './country.ts';
import { dialledUri, type Provider, techHeaders } from './provider.ts';

const E164 = /^\+[1-9]\d{6,14}$/;

const noSource = () =>
  new RefusedDestination(
    'INVALID_ARGUMENT',
    'outgoing_barred',
    'A call to a telephone needs an active normal number of the account as source, or a default one in its outbound config.',
  );

/**
 * Who calls (accounts-and-plumbing 25.4): the source when it is an active normal number of the customer, else the default
 * number of its outbound config. A provider call shows what it is given.
 */
const sourceOf = async ({ services, customer_id, source, provider_id }: Lookup): Promise<Address> => {
  if (provider_id) return source;
  const given = source.type === 'tel' && E164.test(source.target) ? source.target : '';
  const number = await services.directory.sourceNumber(customer_id, given);
  if (!number) throw noSource();
  if (number === given) return source;
  return normalizeAddress({ type: 'tel', target: number, target_name: number, name: '', detail: '' });
};

/** What the carrier is told of who calls (25.5; RFC 3323, RFC 3325): a caller withheld is asserted to it alone. */
const identityHeaders = (source: Address, domain: string, withheld: boolean): Record<string, string> => {
  const known = source.type === 'tel' && E164.test(source.target);
  if (withheld && !known)
    throw new RefusedDestination(
      'INVALID_ARGUMENT',
      'outgoing_barred',
      'A withheld call needs a source that begins with +.',
    );
  const asserted: Record<string, string> = known ? { 'P-Asserted-Identity': `<tel:${source.target}>` } : {};
  return { ...callerHeaders(source, domain, withheld), ...asserted };
};

const callingCodeOf = ({ target }: Address): string => placeOf(target)?.calling_code ?? '';

/** The providers that may take a number, in order (23.1), those that are down last. */
const candidates = async ({ services, customer_id, destination, provider_id }: Lookup): Promise<Provider[]> => {
  if (provider_id) {
    const only = await services.directory.provider(provider_id);
    return only ? [only] : [];
  }
  const code = callingCodeOf(destination);
  const found = await services.directory.routedProviders(customer_id, code);
  const distinct = found.filter((one, at) => found.findIndex(other => other.id === one.id) === at);
  return services.carriers.inOrder(distinct);
};

/**
 * Where a telephone number is dialled: through each provider with a route to it, one after the other.
 * @throws PlatformError INVALID_ARGUMENT without route or valid source
 */
export const telWay = async (lookup: Lookup): Promise<Way> => {
  const { destination, services, withheld } = lookup;
  if (destination.target.startsWith('+899')) {
    const inside = { number: destination.target, withheld };
    return { kind: 'call', targets: [{ uri: '', proxy: '', sip_server: '', headers: {}, inside }] };
  }
  const providers = await candidates(lookup);
  if (!providers.length)
    throw new PlatformError(
      'INVALID_ARGUMENT',
      `No route leads to tel ${destination.target}: there is none with the target ${callingCodeOf(destination)} or all.`,
    );
  const source = await sourceOf(lookup);
  const identity = identityHeaders(source, services.settings.SIP_DOMAIN, withheld);
  const first = providers.reduceRight<DialTarget | undefined>(
    (next, provider) => ({
      uri: dialledUri(provider, destination.target),
      proxy: '',
      sip_server: '',
      headers: { ...techHeaders(provider.tech_headers), ...identity },
      codecs: provider.codecs,
      ...(provider.username ? { auth: { username: provider.username, password: provider.password } } : {}),
      carrier: services.carriers.line(provider, lookup.customer_id),
      ...(next ? { next } : {}),
    }),
    undefined,
  );
  return { kind: 'call', targets: first ? [first] : [], source };
};

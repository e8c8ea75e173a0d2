import { PlatformError } from '#contract/errors';
import type { GuardedFetch } from '#outbound/guarded-fetch';
import type { Carrier } from './carrier.ts';
import { HttpCarrier } from './http-carrier.ts';

const refuse = (what: string) => (): Promise<never> => Promise.reject(new PlatformError('SERVICE_UNAVAILABLE', what));

/** Nobody sells numbers here. */
const none: Carrier = {
  name: '',
  manual: false,
  offers: () => Promise.resolve([]),
  order: refuse('No carrier is connected that sells normal numbers.'),
  release: () => Promise.resolve(),
  connect: refuse('No carrier is connected that makes connections.'),
  disconnect: () => Promise.resolve(),
};

/** The operator has the numbers already: they are noted, and nothing is ordered. */
const manual: Carrier = { ...none, name: 'manual', manual: true, order: () => Promise.resolve('') };

/** The carrier that the settings name. */
export const carrierOf = (
  settings: { CARRIER: string; CARRIER_API_KEY: string },
  fetch: Pick<GuardedFetch, 'exchange'>,
): Carrier => {
  if (settings.CARRIER === '') return none;
  if (settings.CARRIER === 'manual') return manual;
  return new HttpCarrier(settings.CARRIER, settings.CARRIER_API_KEY, fetch);
};

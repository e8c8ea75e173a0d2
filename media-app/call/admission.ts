import { type Address, isVirtualNumber } from '#contract/address';
import { canPay, type Funds, isWithinSpending, type Rates, type Spending } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import { placeOf } from '../carrier/country.ts';
import type { Customer, OutboundConfig } from '../directory.ts';
import { tooLittle } from './balance.ts';
import { OutsideWhitelist, RefusedDestination } from './refusal.ts';

/** One destination of a request, and what is known of who asks. */
export interface Candidate {
  source: Address;
  destination: Address;
  customer: Customer | undefined;
  config: OutboundConfig | undefined;
  /** What the customer has to pay with, and the prices. */
  funds: (Funds & Spending) | undefined;
  rates: Rates;
  /** Dollars that calls to telephones may cost the customer in a day; 0: any sum. */
  most_spend: number;
}

/** One rule a destination must pass before it is dialled. */
export interface Check {
  name: string;
  /** The destinations it is about; all when missing. */
  about?: (destination: Address) => boolean;
  /** Why the destination is passed over; `undefined` when it is not. Rejects when it cannot be told: then it is, too. */
  refuse: (candidate: Candidate) => PlatformError | undefined | Promise<PlatformError | undefined>;
}

/** What can be dialled (9.2): a number or URI as one call, an agent or extension as a groupcall. */
const DIALABLE: readonly Address['type'][] = ['tel', 'sip', 'agent', 'extension'];

/** A number outside this installation. */
const isPstn = ({ type, target }: Address): boolean => type === 'tel' && !isVirtualNumber(target);

/** What a stolen password can cost ends somewhere. Calls that only ring yet are not counted; CUSTOMER_MAX_CALLS bounds them. */
const spentTooMuch = (most: number): PlatformError =>
  new PlatformError(
    'RESOURCE_LIMIT_EXCEEDED',
    `The calls of an account to telephones may cost ${most} dollars in 24 hours (CUSTOMER_MAX_SPEND_PER_DAY).`,
  );

/** Only countries that the customer has named may be called, and numbers of no country never (accounts-and-plumbing 16). */
const notListed = (number: string, whitelist: string[]): PlatformError | undefined => {
  const country = placeOf(number)?.country;
  if (country !== undefined && whitelist.includes(country)) return undefined;
  const where = country === undefined ? 'no country that is known' : country.toUpperCase();
  return new OutsideWhitelist(
    'PERMISSION_DENIED',
    'outgoing_barred',
    `${number} lies in ${where}, which is not in the destination_whitelist of the outbound config.`,
  );
};

/**
 * The checks of voice-and-flows 9.1 on one destination, in its order (accounts-and-plumbing 25.6), and our own of what it
 * may cost behind them; whether a number has a route and a valid source is for the way to say.
 */
export const ADMISSION: readonly Check[] = [
  {
    name: 'type',
    refuse: ({ destination: { type } }) =>
      DIALABLE.includes(type)
        ? undefined
        : new PlatformError('INVALID_ARGUMENT', `A destination of type ${type} cannot be dialled.`),
  },
  {
    name: 'account',
    refuse: ({ customer }) =>
      customer?.status === 'active'
        ? undefined
        : new RefusedDestination(
            'PERMISSION_DENIED',
            'network_out_of_order',
            'The account is not active and may not place calls.',
          ),
  },
  {
    name: 'identity',
    about: isPstn,
    refuse: ({ customer }) =>
      customer?.identity_verification_status === 'verified'
        ? undefined
        : new PlatformError('IDENTITY_VERIFICATION_REQUIRED', 'Telephone numbers need a verified identity.'),
  },
  {
    name: 'balance',
    refuse: ({ funds, rates }) => (funds && canPay(funds, 'call', rates) ? undefined : tooLittle('a call')),
  },
  {
    name: 'outbound config',
    refuse: ({ config }) =>
      config ? undefined : new PlatformError('PERMISSION_DENIED', 'The account has no outbound config.'),
  },
  {
    name: 'whitelist',
    about: isPstn,
    refuse: ({ destination, config }) => notListed(destination.target, config?.destination_whitelist ?? []),
  },
  {
    name: 'spending',
    about: isPstn,
    refuse: ({ funds, rates, most_spend }) =>
      funds && isWithinSpending(funds, rates, most_spend) ? undefined : spentTooMuch(most_spend),
  },
];

/**
 * Puts a destination through the checks; the first it fails decides.
 * @throws PlatformError why it is passed over
 */
export const admit = async (candidate: Candidate, checks = ADMISSION): Promise<void> => {
  for (const { about, refuse } of checks) {
    const refusal = about && !about(candidate.destination) ? undefined : await refuse(candidate);
    if (refusal) throw refusal;
  }
};

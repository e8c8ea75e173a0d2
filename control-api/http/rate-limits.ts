import type { IncomingMessage } from 'node:http';
import type { BlockList } from 'node:net';
import type { Redis } from 'ioredis';
import type { Log } from '#process/log';
import { PlatformError } from '#contract/errors';
import { isSet } from '#contract/ids';
import { AddressLimit } from './address-limit.ts';
import { clientAddress } from './client-address.ts';
import { CustomerLimit } from './customer-limit.ts';
import type { Rate } from './rate.ts';

/** Tiers by client address and tiers by customer (accounts-and-plumbing 3). */
const ADDRESS_TIERS = ['auth_public', 'auth_protected', 'versioned'] as const;
export type AddressTier = (typeof ADDRESS_TIERS)[number];
export type CustomerTier = 'customer' | 'direct' | 'delegate';

/** The rate of each tier; an undefined one is off. */
export type Rates = Record<AddressTier | CustomerTier, Rate | undefined>;

/** A request over a limit, and in how many whole seconds another would be let through. */
export class RateLimitExceeded extends PlatformError {
  readonly retry_after_s: number;

  constructor(limited_by: 'ip' | 'customer', waitS: number) {
    super('RATE_LIMIT_EXCEEDED', 'Too many requests; wait as long as Retry-After says.', [{ limited_by }]);
    this.retry_after_s = Math.max(1, Math.ceil(waitS));
  }
}

/** Agents and accesskeys of a customer share one bucket. */
const tierOf = (kind: string): CustomerTier => (kind === 'direct' || kind === 'delegate' ? kind : 'customer');

interface RateLimitsOptions {
  rates: Rates;
  proxies: BlockList;
  redis: Redis;
  log: Log;
}

/** Counts requests against the limits of their address and of their customer. */
export class RateLimits {
  readonly #rates: Rates;
  readonly #proxies: BlockList;
  readonly #addresses = new Map<AddressTier, AddressLimit>();
  readonly #customers: CustomerLimit;

  constructor({ rates, proxies, redis, log }: RateLimitsOptions) {
    [this.#rates, this.#proxies] = [rates, proxies];
    this.#customers = new CustomerLimit(redis, log);
    for (const tier of ADDRESS_TIERS) {
      const rate = rates[tier];
      if (rate) this.#addresses.set(tier, new AddressLimit(rate));
    }
  }

  /** The address a request comes from, as trusted proxies tell it. */
  addressOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    return clientAddress(request, this.#proxies);
  }

  /** Counts a request of a client's address. Throws RATE_LIMIT_EXCEEDED. */
  countAddress(tier: AddressTier, request: Pick<IncomingMessage, 'headers' | 'socket'>): void {
    const waitS = this.#addresses.get(tier)?.take(this.addressOf(request)) ?? 0;
    if (waitS > 0) throw new RateLimitExceeded('ip', waitS);
  }

  /** Counts a request of a customer by its kind of credential. Rejects RATE_LIMIT_EXCEEDED. */
  async countCustomer(identity: { kind: string; customer_id: string }): Promise<void> {
    const tier = tierOf(identity.kind);
    const rate = this.#rates[tier];
    if (!rate || !isSet(identity.customer_id)) return;
    const waitS = await this.#customers.take(tier, identity.customer_id, rate);
    if (waitS > 0) throw new RateLimitExceeded('customer', waitS);
  }
}

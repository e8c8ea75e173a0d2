import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';
import { fromDate, type Timestamp } from '#contract/time';
import { hashOfToken } from '../auth/secrets.ts';

/** How long a token is good (accounts-and-plumbing 18.2). */
export const LIFETIME_MS = 600_000;

/** Whose phone a token sets up. */
export interface Holder {
  extension_id: string;
  tm_expire: Timestamp;
}

/**
 * Tokens that let a phone fetch its settings, in Redis (accounts-and-plumbing 18.2). Only their hashes are kept, and they
 * are found by them, so that neither a dump nor the time of a lookup tells one. Redis forgets them by itself.
 */
export class ProvisioningTokens {
  readonly #redis: Pick<Redis, 'set' | 'get'>;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(redis: Pick<Redis, 'set' | 'get'>, now: () => number = Date.now) {
    [this.#redis, this.#now] = [redis, now];
  }

  /** A new token of an extension: 32 random bytes in hex. Those issued before stay good until they expire. */
  async issue(extension_id: string): Promise<{ token: string; tm_expire: Timestamp }> {
    const token = randomBytes(32).toString('hex');
    const holder: Holder = { extension_id, tm_expire: fromDate(new Date(this.#now() + LIFETIME_MS)) };
    await this.#redis.set(keys.provisioning(hashOfToken(token)), JSON.stringify(holder), 'PX', LIFETIME_MS);
    return { token, tm_expire: holder.tm_expire };
  }

  /** Whose a token is; undefined when it is unknown or expired. */
  async holder(token: string): Promise<Holder | undefined> {
    const found = await this.#redis.get(keys.provisioning(hashOfToken(token)));
    const holder = found === null ? undefined : (JSON.parse(found) as Holder);
    return holder && holder.tm_expire > fromDate(new Date(this.#now())) ? holder : undefined;
  }
}

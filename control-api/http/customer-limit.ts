import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { keys } from '#contract/keys';
import type { Rate } from './rate.ts';

/** Redis gets this long to answer; then the request is let through (accounts-and-plumbing 3), in milliseconds. */
const BUDGET_MS = 50;
/** That Redis is away is said once in so many milliseconds. */
const SILENCE_MS = 10_000;

/**
 * The generic cell rate algorithm in microseconds of Redis's own clock, so that all control-apis agree: KEYS[1] holds
 * when the bucket will be full again. Answers 0, or the microseconds until a request would be let through.
 */
const GCRA = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local full = tonumber(redis.call('GET', KEYS[1]) or now)
  if full < now then full = now end
  local after = full + ARGV[1]
  local early = after - ARGV[1] * ARGV[2] - now
  if early > 0 then return math.ceil(early) end
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
  return 0`;

/** One bucket for each customer and tier, shared by all control-apis. */
export class CustomerLimit {
  readonly #redis: Redis;
  readonly #log: Logger;
  #said = -Infinity;

  constructor(redis: Redis, log: Logger) {
    [this.#redis, this.#log] = [redis, log];
  }

  /** Counts a request. Resolves 0, or how many seconds to wait; 0 too when Redis does not answer in time. */
  async take(tier: string, customerId: string, rate: Rate): Promise<number> {
    const interval = Math.round(1_000_000 / rate.per_second);
    const over = new AbortController();
    const late = wait(BUDGET_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error(`no answer within ${BUDGET_MS} ms`);
    });
    try {
      const asked = this.#redis.eval(GCRA, 1, keys.rateLimit(tier, customerId), interval, rate.burst);
      return Number(await Promise.race([asked, late])) / 1_000_000;
    } catch (error) {
      // A limit that cannot be looked up must not stop the telephone system.
      this.#say(error);
      return 0;
    } finally {
      late.catch(() => undefined);
      over.abort();
    }
  }

  #say(error: unknown): void {
    if (performance.now() - this.#said < SILENCE_MS) return;
    this.#said = performance.now();
    this.#log.warn({ err: error }, 'requests of customers are not limited while Redis is away');
  }
}

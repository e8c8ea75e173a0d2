import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Log } from '#process/log';
import { keys } from '#contract/keys';
import type { Rate } from './rate.ts';

/** Redis gets this long to answer; then the request is let through (accounts-and-plumbing 3), in milliseconds. */
const BUDGET_MS = 50;
/** That Redis is away is said once in so many milliseconds. */
const SILENCE_MS = 10_000;

/**
 * The generic cell rate algorithm in microseconds of Redis's own clock, so that all control-apis agree: KEYS[1] holds
 * when the bucket will be full again; ARGV are the interval, the burst, and how many ask. Answers how many are let
 * through, and the microseconds until another would be.
 */
const GCRA = `
  local interval, burst, asking = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local full = tonumber(redis.call('GET', KEYS[1]) or now)
  if full < now then full = now end
  local admitted = math.max(0, math.min(asking, math.floor(burst - (full - now) / interval)))
  if admitted > 0 then
    full = full + admitted * interval
    redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
  end
  return { admitted, math.ceil(full + interval - interval * burst - now) }`;

interface Answer {
  admitted: number;
  wait_s: number;
}

/** Requests of one bucket that came in one turn of the event loop. */
interface Turn {
  asking: number;
  answer: Promise<Answer>;
}

/** One bucket for each customer and tier, shared by all control-apis. */
export class CustomerLimit {
  readonly #redis: Redis;
  readonly #log: Log;
  readonly #turns = new Map<string, Turn>();
  #said = -Infinity;

  constructor(redis: Redis, log: Log) {
    [this.#redis, this.#log] = [redis, log];
  }

  /** Counts a request. Resolves 0, or how many seconds to wait; 0 too when Redis does not answer in time. */
  async take(tier: string, customerId: string, rate: Rate): Promise<number> {
    const key = keys.rateLimit(tier, customerId);
    const turn = this.#turns.get(key) ?? this.#begin(key, rate);
    const place = turn.asking++;
    const { admitted, wait_s } = await turn.answer;
    return place < admitted ? 0 : wait_s;
  }

  /** Whoever comes before the next turn is counted by the same command. */
  #begin(key: string, rate: Rate): Turn {
    const answer: Promise<Answer> = nextTurn().then(() => {
      this.#turns.delete(key);
      return this.#ask(key, rate, turn.asking);
    });
    const turn: Turn = { asking: 0, answer };
    this.#turns.set(key, turn);
    return turn;
  }

  async #ask(key: string, { per_second, burst }: Rate, asking: number): Promise<Answer> {
    const interval = Math.round(1_000_000 / per_second);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${BUDGET_MS} ms`)), BUDGET_MS);
    });
    try {
      const asked = this.#redis.eval(GCRA, 1, key, interval, burst, asking) as Promise<[number, number]>;
      const [admitted, waitUs] = await Promise.race([asked, late]);
      return { admitted, wait_s: waitUs / 1_000_000 };
    } catch (error) {
      // A limit that cannot be looked up must not stop the telephone system.
      this.#say(error);
      return { admitted: asking, wait_s: 0 };
    } finally {
      clearTimeout(timer);
    }
  }

  #say(error: unknown): void {
    if (performance.now() - this.#said < SILENCE_MS) return;
    this.#said = performance.now();
    this.#log.warn({ err: error }, 'requests of customers are not limited while Redis is away');
  }
}

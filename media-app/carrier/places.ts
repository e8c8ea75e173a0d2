import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';

/** How many calls at a time and new calls in a second; 0 is any number. */
export interface Ceiling {
  most_calls: number;
  most_calls_per_second: number;
}

export type Refusal = 'full' | 'fast';

type TakeScript = (...args: string[]) => Promise<'ok' | Refusal>;

/** Places for calls under a ceiling, counted over all nodes; a node that dies takes its places along. */
export class CallPlaces {
  readonly #redis: Redis;
  readonly #node: string;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch */
  constructor(redis: Redis, node: string, now: () => number = Date.now) {
    this.#redis = redis;
    this.#node = node;
    this.#now = now;
    const lua = readFileSync(new URL('places.lua', import.meta.url), 'utf8');
    redis.defineCommand('takePlace', { numberOfKeys: 2, lua });
  }

  /** Takes a place in a scope, or says why there is none. */
  async take(scope: string, { most_calls, most_calls_per_second }: Ceiling): Promise<Place | Refusal> {
    const script = (this.#redis as unknown as { takePlace: TakeScript }).takePlace.bind(this.#redis);
    const limits = [String(most_calls), String(most_calls_per_second), String(this.#now()), keys.node('')];
    const answer = await script(keys.callPlaces(scope), keys.callRate(scope), this.#node, ...limits);
    return answer === 'ok' ? new Place(() => this.#giveBack(scope)) : answer;
  }

  #giveBack(scope: string): void {
    // Redis that is away now has lost the count or will be asked by a new node: nothing to do here.
    this.#redis.hincrby(keys.callPlaces(scope), this.#node, -1).catch(() => undefined);
  }
}

/** A place that a call takes until it is over. */
export class Place {
  #leave: (() => void) | undefined;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  /** Once is enough, more does no harm. */
  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }
}

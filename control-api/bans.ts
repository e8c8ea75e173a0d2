import type { Redis } from 'ioredis';
import { type Ban, banSchema } from '#contract/ban';
import { PlatformError } from '#contract/errors';
import { keys } from '#contract/keys';
import { fromDate } from '#contract/time';

/** Reads the bans that media-app keeps in Redis. */
export class BanReader {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** One ban; rejects BAN_NOT_FOUND. */
  async get(id: string): Promise<Ban> {
    const ban = (await this.list()).find(one => one.id === id);
    if (!ban) throw new PlatformError('BAN_NOT_FOUND', 'Ban not found.');
    return ban;
  }

  /** Every ban that has not ended, newest first. */
  async list(): Promise<Ban[]> {
    const bans = (await this.#redis.hvals(keys.bans)).map(text => {
      const { ends_at, ...ban } = JSON.parse(text) as Ban & { ends_at: number };
      return banSchema.parse({ ...ban, tm_expire: fromDate(new Date(ends_at)) });
    });
    return bans.sort((a, b) => (a.tm_create < b.tm_create ? 1 : -1));
  }
}

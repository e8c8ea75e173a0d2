import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';
import { liveContacts, registrationOf, type Registration } from '#contract/registration';

/** Reads where extensions are registered, which media-app keeps in Redis. */
export class RegistrationReader {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** What is registered of each extension now, in the order of the ids. */
  async of(extensionIds: string[], now = Date.now()): Promise<Registration[]> {
    if (!extensionIds.length) return [];
    const read = this.#redis.pipeline();
    for (const id of extensionIds) read.hvals(keys.contacts(id));
    const [stored, seen] = await Promise.all([read.exec(), this.#redis.hmget(keys.extensionsSeen, ...extensionIds)]);
    return extensionIds.map((_, at) => {
      const texts = (stored?.[at]?.[1] ?? []) as string[];
      return registrationOf(liveContacts(texts, now), Number(seen[at]));
    });
  }
}

import type { Redis } from 'ioredis';
import type { Notice } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';

/** Events of what no live record holds; they reach clients by the same stream and projector as all others. */
export class Notices {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Resolves once Redis holds the notice.
   * @param requestId the API request that caused it; empty when none did
   */
  async tell(notice: Omit<Notice, 'kind' | 'id' | 'timestamp' | 'request_id'>, requestId = ''): Promise<void> {
    const entry: Notice = { kind: 'notice', id: newId(), timestamp: timestamp(), ...notice, request_id: requestId };
    await this.#redis.xadd(keys.stream, '*', 'entry', JSON.stringify(entry));
  }
}

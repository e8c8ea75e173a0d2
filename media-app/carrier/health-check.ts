import type { Redis } from 'ioredis';
import type { CarrierHealth } from '#contract/carrier';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';
import type { Directory } from '../directory.ts';
import type { Log } from '#process/log';
import type { SipServers } from '../sip/servers.ts';
import { carrierAnswers } from './options.ts';
import type { Provider } from './provider.ts';

/** Any answer within this time is a healthy one (accounts-and-plumbing 22). */
const ANSWER_MS = 5000;

/** Asks every provider by OPTIONS whether it is there, one node for all; what it finds lies in Redis. */
export class CarrierHealthCheck {
  readonly #redis: Redis;
  readonly #directory: Directory;
  readonly #sip: SipServers;
  readonly #everyMs: number;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;

  constructor(given: { redis: Redis; directory: Directory; sip: SipServers; everyMs: number; log: Log }) {
    this.#redis = given.redis;
    this.#directory = given.directory;
    this.#sip = given.sip;
    this.#everyMs = given.everyMs;
    this.#log = given.log;
  }

  /** Asks carriers every interval. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), this.#everyMs);
    this.#timer.unref();
  }

  /** Asks no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      // Whoever comes first in a round asks for everybody.
      const ours = await this.#redis.set(keys.carrierRound, '1', 'PX', Math.ceil(this.#everyMs * 0.9), 'NX');
      if (ours) await Promise.all((await this.#directory.providers()).map(provider => this.#ask(provider)));
    } catch (error) {
      // The next round asks again; calls go their way meanwhile.
      this.#log.debug({ error: String(error) }, 'carriers not asked');
    }
  }

  async #ask({ id, hostname }: Provider): Promise<void> {
    const health_status = (await carrierAnswers(this.#sip, hostname, ANSWER_MS)) ? 'healthy' : 'unhealthy';
    const found: CarrierHealth = { health_status, health_checked_at: timestamp(), hostname };
    const before = await this.#redis.getset(keys.carrierHealth(id), JSON.stringify(found));
    await this.#redis.pexpire(keys.carrierHealth(id), this.#everyMs * 5);
    if (health_status === 'unhealthy' && !before?.includes('unhealthy'))
      this.#log.warn({ provider_id: id, hostname }, 'a carrier does not answer OPTIONS');
  }
}

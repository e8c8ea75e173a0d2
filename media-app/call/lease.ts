import type { Redis } from 'ioredis';
import type { NodeReport } from '#contract/events';
import { keys } from '#contract/keys';
import type { Log } from '#process/log';

/**
 * The sign of life of this node: a key that expires when we stop renewing it. While it stands, everything in our owned
 * set is ours; when it is gone, other nodes end those calls truthfully (`Recovery`).
 */
export class Lease {
  readonly #redis: Redis;
  readonly #report: () => NodeReport;
  readonly #leaseMs: number;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, leaseMs: number, report: () => NodeReport, log: Log) {
    this.#redis = redis;
    this.#leaseMs = leaseMs;
    this.#report = report;
    this.#log = log;
  }

  /** Says that this node is there, and goes on saying so. Rejects when Redis does not take it. */
  async start(): Promise<void> {
    await this.#redis.sadd(keys.nodes, this.#report().node_id);
    await this.renew();
    this.#timer = setInterval(() => void this.renew(), this.#leaseMs / 4);
  }

  /** Writes the report now; also worth doing when a server connects or is lost. */
  async renew(): Promise<void> {
    const report = this.#report();
    await this.#redis
      .set(keys.node(report.node_id), JSON.stringify(report), 'PX', this.#leaseMs)
      .catch((error: unknown) => this.#log.error({ error: String(error) }, 'the lease could not be renewed'));
  }

  /** A node that left in good order leaves nothing to bury but conferences, which wait to be adopted. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const { node_id } = this.#report();
    const left = await this.#redis.scard(keys.owned(node_id));
    const leaving = this.#redis.multi().del(keys.node(node_id));
    await (left > 0 ? leaving : leaving.srem(keys.nodes, node_id)).exec();
  }
}

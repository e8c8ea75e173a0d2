import type { Knex } from 'knex';
import type { Log } from '#process/log';
import type { EventMessage } from '#contract/events';
import { signatureOf } from '#outbound/signature';
import { TargetRefused, type GuardedFetch } from '#outbound/guarded-fetch';
import { claimDeliveries, recordAttempt, type Attempt, type Delivery, type Outcome } from './deliveries.ts';
import type { LogFeed } from './feed.ts';

interface WebhookOptions {
  database: Knex;
  feed: LogFeed;
  http: GuardedFetch;
  log: Log;
  /** The receiver must answer 200 within this time (platform-api, Events). */
  timeout_ms?: number;
  /** Pause before the second attempt; each further one is twice as long, up to an hour. */
  first_retry_ms?: number;
  poll_ms?: number;
}

const MOST_AT_ONCE = 64;
/** Deliveries of one customer at a time, so that a slow receiver does not hold up the others. */
const MOST_PER_CUSTOMER = 8;
const LONGEST_RETRY_MS = 3_600_000;

/** The JSON a receiver gets: the same for every attempt, so the signature is too. */
const bodyOf = ({ id, sequence, event_type, timestamp, topic, request_id, data }: EventMessage): string =>
  JSON.stringify({ id, sequence, event_type, timestamp, topic, request_id, data });

const headersOf = (delivery: Delivery, body: string): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Trunkline-Webhook/1',
  ...(delivery.webhook_secret ? { 'x-webhook-signature': signatureOf(body, delivery.webhook_secret) } : {}),
  ...(/^[\w-]{1,64}$/.test(delivery.request_id) ? { 'x-request-id': delivery.request_id } : {}),
});

/** Only 200 is success; 5xx may pass, anything else will not change by asking again (accounts-and-plumbing 27). */
const outcomeOf = (status: number): Outcome => (status === 200 ? 'delivered' : status >= 500 ? 'retry' : 'dead');

/**
 * Delivers events to webhooks. The table is the queue: a delivery is leased, attempted and settled, so a crash in between
 * only means another attempt under the same event id. Of one resource the next waits until the earlier is settled.
 */
export class Webhooks {
  readonly #given: Required<WebhookOptions>;
  readonly #running = new Map<Promise<void>, string>();
  #timer: NodeJS.Timeout | undefined;
  #quiet: () => void = () => undefined;
  #claiming: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(given: WebhookOptions) {
    this.#given = { timeout_ms: 5000, first_retry_ms: 1000, poll_ms: 500, ...given };
  }

  /** Sends what is due, now and whenever something is. */
  start(): void {
    this.#quiet = this.#given.feed.onGrowth(growth => growth?.posted !== false && this.#wake());
    this.#timer = setInterval(() => this.#wake(), this.#given.poll_ms);
    this.#timer.unref();
    this.#wake();
  }

  /** Starts nothing more and waits for the attempts at hand. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#quiet();
    clearInterval(this.#timer);
    await this.#claiming;
    await Promise.all(this.#running.keys());
  }

  #wake(): void {
    this.#again = true;
    this.#claiming ??= this.#claimAll().finally(() => (this.#claiming = undefined));
  }

  async #claimAll(): Promise<void> {
    while (this.#again && !this.#stopped && this.#running.size < MOST_AT_ONCE) {
      this.#again = false;
      await this.#claim().catch((error: unknown) => this.#given.log.warn({ err: error }, 'webhooks cannot be claimed'));
    }
  }

  async #claim(): Promise<void> {
    const deliveries = await claimDeliveries(this.#given.database, {
      most: MOST_AT_ONCE - this.#running.size,
      most_per_customer: MOST_PER_CUSTOMER,
      busy_customers: this.#busyCustomers(),
      lease_ms: 2 * this.#given.timeout_ms,
    });
    for (const delivery of deliveries) this.#run(delivery);
  }

  #busyCustomers(): string[] {
    const counts = new Map<string, number>();
    for (const id of this.#running.values()) counts.set(id, (counts.get(id) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= MOST_PER_CUSTOMER).map(([id]) => id);
  }

  #run(delivery: Delivery): void {
    const work = this.#deliver(delivery)
      // The lease runs out and somebody delivers again: at least once, under the same event id.
      .catch((error: unknown) => this.#given.log.warn({ err: error, delivery_id: delivery.id }, 'webhook not settled'))
      .finally(() => {
        this.#running.delete(work);
        this.#wake();
      });
    this.#running.set(work, delivery.customer_id);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const attempt = await this.#attempt(delivery);
    const state = await recordAttempt(this.#given.database, delivery, attempt, this.#retryMs(delivery));
    const { id, event_id, uri, attempts } = delivery;
    if (state === 'dead')
      this.#given.log.warn(
        { delivery_id: id, event_id, uri: withoutLogin(uri), attempts, ...attempt },
        'webhook given up',
      );
  }

  async #attempt(delivery: Delivery): Promise<Attempt> {
    const body = bodyOf(delivery.event);
    const { uri, method } = delivery;
    const started = performance.now();
    const since = (): number => Math.round(performance.now() - started);
    try {
      const headers = headersOf(delivery, body);
      const status = await this.#given.http.send({ uri, method, headers, body, timeout_ms: this.#given.timeout_ms });
      return { outcome: outcomeOf(status), status, error: null, duration_ms: since() };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const outcome = error instanceof TargetRefused ? 'dead' : 'retry';
      return { outcome, status: null, error: text.slice(0, 500), duration_ms: since() };
    }
  }

  /** 1 s, 2 s, 4 s … an hour, and up to a quarter more so that failed deliveries do not come back all at once. */
  #retryMs({ attempts, attempts_before }: Delivery): number {
    const failures = Math.min(attempts - attempts_before - 1, 30);
    const pause = Math.min(this.#given.first_retry_ms * 2 ** failures, LONGEST_RETRY_MS);
    return Math.round(pause * (1 + Math.random() / 4));
  }
}

const withoutLogin = (uri: string): string => uri.replace(/\/\/[^/@]*@/, '//').replace(/\?.*$/, '?…');

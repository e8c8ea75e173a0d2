import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '#process/log';
import { EVENTS_CHANNEL, POSTED } from './log.ts';

/** Whose log grew. */
export interface Growth {
  customer_id: string;
  /** True when webhooks are to be delivered. */
  posted: boolean;
}

/** Called when a log grew; with undefined when any may have grown (after a broken connection). */
export type GrowthListener = (growth: Growth | undefined) => void;

const growthOf = (payload: string): Growth => ({
  customer_id: payload.replace(POSTED, ''),
  posted: payload.endsWith(POSTED),
});

const RECONNECT_MS = 500;

/** Hears, on a connection of its own, that the event log grew. A hint only: listeners read the log and poll besides. */
export class LogFeed {
  readonly #url: string;
  readonly #log: Log;
  readonly #listeners = new Set<GrowthListener>();
  readonly #stopped = new AbortController();
  #client: pg.Client | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(given: { databaseUrl: string; log: Log }) {
    this.#url = given.databaseUrl;
    this.#log = given.log;
  }

  /** Listens from now on; without a connection it tries again. */
  start(): void {
    this.#running = this.#run();
  }

  /** Listens no more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#client?.end();
    await this.#running;
  }

  /** Adds a listener; the returned function removes it. */
  onGrowth(listener: GrowthListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#listen().catch((error: unknown) => this.#log.warn({ err: error }, 'the event feed lost Postgres'));
      // An aborted wait is the order to stop; the loop's condition sees it.
      await wait(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Settles when the connection is gone. */
  async #listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      application_name: 'control-api feed',
    });
    this.#client = client;
    const gone = new Promise<void>(resolve => client.once('end', () => resolve()));
    client.on('error', error => this.#log.warn({ err: error }, 'the event feed lost Postgres'));
    client.on('notification', ({ payload }) => this.#tell(payload === undefined ? undefined : growthOf(payload)));
    await client.connect();
    if (this.#stopped.signal.aborted) return client.end();
    await client.query(`listen ${EVENTS_CHANNEL}`);
    this.#tell(undefined);
    await gone;
  }

  #tell(growth: Growth | undefined): void {
    for (const listener of this.#listeners) listener(growth);
  }
}

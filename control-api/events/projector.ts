import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Knex } from 'knex';
import pg from 'pg';
import type { Log } from '#process/log';
import type { Rates } from '#contract/billing';
import { keys } from '#contract/keys';
import { readEntry, type Read } from './entry.ts';
import { projectCarefully } from './projection.ts';

/** Any fixed number: the session lock of "I copy live state to Postgres". */
const PROJECTOR_LOCK = 7_120_602;
const BATCH = 500;
/** How long changes are gathered into one transaction; part of the delay of every event. */
const GATHER_MS = 10;
const BLOCK_MS = 1000;
const STANDBY_MS = 1000;
const TRIM_MS = 1000;
const BACK_OFF_MS = { first: 100, most: 5000 };

interface ProjectorOptions {
  database: Knex;
  databaseUrl: string;
  redis: Redis;
  /** What calls, recordings and participations are charged. */
  rates: Rates;
  log: Log;
}

/**
 * Copies the stream of live changes to Postgres, each batch in one transaction with the cursor. Of all control-apis one
 * is active: it holds a session lock on the connection it writes with, so losing the connection loses both.
 */
export class Projector {
  readonly #given: ProjectorOptions;
  readonly #log: Log;
  readonly #stopped = new AbortController();
  #reader: Redis | undefined;
  #running: Promise<void> = Promise.resolve();
  #trimmed = 0;
  #failures = 0;
  #active = false;

  constructor(given: ProjectorOptions) {
    this.#given = given;
    this.#log = given.log;
  }

  /** True while this one is the active projector. */
  get active(): boolean {
    return this.#active;
  }

  /** Waits for the lock, and projects while it is held. */
  start(): void {
    this.#reader = this.#given.redis.duplicate({ maxRetriesPerRequest: null });
    this.#reader.on('error', (error: Error) => this.#log.warn({ err: error }, 'the projector lost Redis'));
    this.#running = this.#run();
  }

  /** Finishes the batch at hand and gives the lock back. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#reader?.disconnect();
    await this.#running;
  }

  /** Age in milliseconds of the oldest change that is not in Postgres yet; 0 when all are. */
  async lag(): Promise<number> {
    const { rows } = await this.#given.database.raw<{ rows: { stream_id: string }[] }>(
      'select stream_id from projector_cursor',
    );
    const next = await this.#given.redis.xrange(keys.stream, `(${rows[0]?.stream_id ?? '0-0'}`, '+', 'COUNT', 1);
    const [id] = next[0] ?? [];
    return id === undefined ? 0 : Math.max(1, Date.now() - Number.parseInt(id, 10));
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        await this.#session();
      } catch (error) {
        if (!this.#stopped.signal.aborted) await this.#backOff(error);
      }
    }
  }

  async #backOff(error: unknown): Promise<void> {
    const delay = Math.min(BACK_OFF_MS.first * 2 ** this.#failures++, BACK_OFF_MS.most);
    this.#log.warn({ err: error, retry_ms: delay }, 'the projector was interrupted and starts again');
    await this.#pause(delay);
  }

  /** An aborted pause is the order to stop; every loop looks for it. */
  async #pause(milliseconds: number): Promise<void> {
    await wait(milliseconds, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
  }

  /** One connection to Postgres: waits for the lock, then projects until something breaks or stop is asked for. */
  async #session(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#given.databaseUrl,
      keepAlive: true,
      application_name: 'control-api projector',
    });
    client.on('error', error => this.#log.warn({ err: error }, 'the projector lost Postgres'));
    try {
      await client.connect();
      if (await this.#lead(client)) await this.#project(client);
    } finally {
      this.#active = false;
      await client.end().catch((error: unknown) => this.#log.debug({ err: error }, 'connection was already gone'));
    }
  }

  /** Resolves true with the lock, false when stop came first. */
  async #lead(client: pg.Client): Promise<boolean> {
    while (!this.#stopped.signal.aborted) {
      const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
        PROJECTOR_LOCK,
      ]);
      if (rows[0]?.mine) return true;
      await this.#pause(STANDBY_MS);
    }
    return false;
  }

  async #project(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ stream_id: string }>('select stream_id from projector_cursor');
    let cursor = rows[0]?.stream_id ?? '0-0';
    const { rates } = this.#given;
    this.#active = true;
    this.#log.info({ cursor }, 'projecting live state');
    while (!this.#stopped.signal.aborted) {
      const reads = await this.#gather(cursor);
      if (reads.length > 0) cursor = await projectCarefully(client, cursor, reads, { rates, report: this.#report });
      this.#failures = 0;
      await this.#trim(cursor);
    }
  }

  /**
   * Waits for the first change, then a moment for those that follow it: a call that begins writes several within
   * milliseconds, and one transaction for all of them leaves the machine to the call.
   */
  async #gather(cursor: string): Promise<Read[]> {
    const first = await this.#read(cursor);
    if (first.length === 0 || first.length === BATCH) return first;
    await this.#pause(GATHER_MS);
    return this.#read(cursor);
  }

  async #read(cursor: string): Promise<Read[]> {
    const answer = await this.#reader?.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', keys.stream, cursor);
    const [, entries] = answer?.[0] ?? [];
    return (entries ?? []).map(([id, fields]) => readEntry(id, fields));
  }

  readonly #report = (refused: { stream_id: string; reason: string }): void =>
    this.#log.error(refused, 'live entry set aside');

  /** Entries behind the committed cursor are in Postgres; the one at the cursor stays as a mark. */
  async #trim(cursor: string): Promise<void> {
    if (Date.now() - this.#trimmed < TRIM_MS) return;
    this.#trimmed = Date.now();
    await this.#reader?.xtrim(keys.stream, 'MINID', '~', cursor);
  }
}

import { Redis } from 'ioredis';
import { pino, type Logger } from 'pino';
import type { LiveEntry, LiveEventType } from '#contract/events';
import { newId } from '#contract/ids';
import { START_ACTION } from '#contract/action';
import { RATES, type Rates } from '#contract/billing';
import { newCall, type Call } from '#contract/call';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';
import type { Db } from '../../control-api/db.ts';
import { testDatabase, testRedis } from '../support/database.ts';

/** Postgres, Redis and a log for tests of what moves events. */
export interface EventRig {
  db: Db;
  databaseUrl: string;
  redis: Redis;
  redisUrl: string;
  log: Logger;
  rates: Rates;
  /** Log lines of level warn and above, as parsed JSON. */
  warnings: Record<string, unknown>[];
  close(): Promise<void>;
}

export const openRig = async (): Promise<EventRig> => {
  const database = await testDatabase();
  const { url: redisUrl } = await testRedis();
  const redis = new Redis(redisUrl);
  const warnings: Record<string, unknown>[] = [];
  const write = (line: string): unknown => warnings.push(JSON.parse(line) as Record<string, unknown>);
  const log = pino({ level: 'warn' }, { write });
  const close = async (): Promise<void> => {
    redis.disconnect();
    await database.drop();
  };
  return { db: database.db, databaseUrl: database.url, redis, redisUrl, log, rates: RATES, warnings, close };
};

/** A customer, with a webhook when one is given. */
export const addCustomer = async (
  db: Db,
  webhook: { uri?: string; method?: string; secret?: string } = {},
): Promise<string> => {
  const id = newId();
  const { uri = '', method = 'POST', secret = 'secret' } = webhook;
  await db('customers').insert({
    id,
    status: 'active',
    sip_label: id.slice(0, 8),
    webhook_uri: uri,
    webhook_method: method,
    webhook_secret: secret,
    tm_create: timestamp(),
  });
  return id;
};

const address = (target: string): Call['source'] => ({
  type: 'extension',
  target,
  target_name: '',
  name: '',
  detail: '',
});

/** What every event consists of, in this order. */
export const EVENT_FIELDS = ['id', 'sequence', 'event_type', 'timestamp', 'topic', 'request_id', 'data'];

/** A call of a customer as media-app would hold it. */
export const aCall = (customerId: string, given: Partial<Call> = {}): Call =>
  newCall({
    id: newId(),
    customer_id: customerId,
    direction: 'outgoing',
    status: 'dialing',
    tm_create: timestamp(),
    source: address('1001'),
    destination: address('1002'),
    action: START_ACTION,
    ...given,
  });

/** The change of a call that media-app reports, with the events it causes. */
export const callEntry = (call: Call, version: number, types: LiveEventType<'call'>[]): LiveEntry<'call'> => ({
  kind: 'call',
  id: call.id,
  version,
  customer_id: call.customer_id,
  data: call,
  events: types.map(event_type => ({ id: newId(), event_type, timestamp: timestamp() })),
  request_id: 'req_test',
});

/** What media-app's commit script does to the stream. */
export const report = async (redis: Redis, ...entries: (LiveEntry | string)[]): Promise<void> => {
  const texts = entries.map(entry => (typeof entry === 'string' ? entry : JSON.stringify(entry)));
  await Promise.all(texts.map(text => redis.xadd(keys.stream, '*', 'entry', text)));
};

/** Waits until a condition holds, looking again every 10 ms; fails after `patience_ms`. */
export const eventually = async (
  what: string,
  holds: () => Promise<boolean> | boolean,
  patience_ms = 8000,
): Promise<void> => {
  const deadline = Date.now() + patience_ms;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
};

export const countOf = async (db: Db, table: string): Promise<number> => {
  const row = await db(table).count<{ count: number }[]>('* as count').first();
  return Number(row?.count ?? 0);
};

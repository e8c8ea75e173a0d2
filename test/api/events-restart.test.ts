import { RATES } from '#contract/billing';
import { strict as assert } from 'node:assert';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { openDatabase, type Db } from '../../control-api/db.ts';
import { readEvents } from '../../control-api/events/log.ts';
import { Projector } from '../../control-api/events/projector.ts';
import { migrate } from '../../control-api/migrations/index.ts';
import { startPostgres, type RunningPostgres } from '../../scripts/start/postgres.ts';
import { startRedis, type RunningRedis } from '../../scripts/start/redis.ts';
import { aCall, callEntry, eventually, report } from './events-rig.ts';

describe('the projector when its servers die', function () {
  this.timeout(120_000);
  let dataDir: string;
  let postgres: RunningPostgres;
  let redisServer: RunningRedis;
  let db: Db;
  let redis: Redis;
  let projector: Projector;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'trunkline-restart-'));
    await chmod(dataDir, 0o755);
    postgres = await startPostgres({ dataDir });
    redisServer = await startRedis({ dataDir });
    db = openDatabase(postgres.url);
    await migrate(db);
    redis = new Redis(redisServer.url, { maxRetriesPerRequest: null, retryStrategy: () => 100 });
    redis.on('error', () => undefined); // it dies on purpose
    projector = new Projector({
      rates: RATES,
      database: db,
      databaseUrl: postgres.url,
      redis,
      log: pino({ level: 'silent' }),
    });
    projector.start();
  });
  after(async () => {
    await projector.stop();
    redis.disconnect();
    await db.destroy();
    await redisServer.stop();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const customer = newId();
  const ids: string[] = [];
  const reportSome = async (): Promise<void> => {
    const entries = Array.from({ length: 200 }, () => callEntry(aCall(customer), 1, ['call_created']));
    ids.push(...entries.flatMap(entry => entry.events.map(event => event.id)));
    await report(redis, ...entries);
  };
  const complete = async (): Promise<void> => {
    const read = async (): Promise<boolean> =>
      (await readEvents(db, customer, 0, 10_000).catch(() => [])).length === ids.length;
    await eventually('every event is in Postgres', read, 20_000);
    const events = await readEvents(db, customer, 0, 10_000);
    assert.deepEqual(
      events.map(event => event.id),
      ids,
    );
    assert.equal(events.at(-1)?.sequence, ids.length);
  };

  it('goes on without loss or copy after a kill -9 of Postgres', async () => {
    await reportSome();
    await eventually('the first are there', async () => (await readEvents(db, customer, 0, 1)).length === 1);
    await reportSome();
    await postgres.kill();
    await reportSome();
    postgres = await startPostgres({ dataDir, port: postgres.port });
    await complete();
  });

  it('goes on without loss or copy after a kill -9 of Redis', async () => {
    await reportSome();
    await redisServer.kill();
    const { port, password } = redisServer;
    redisServer = await startRedis({ dataDir, port, password });
    await reportSome();
    await complete();
  });
});

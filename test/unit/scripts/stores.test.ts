import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { isRunning } from '../../../scripts/start/processes.ts';
import { startPostgres } from '../../../scripts/start/postgres.ts';
import { startRedis } from '../../../scripts/start/redis.ts';

const query = async (url: string, sql: string): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

const redisCommand = async (url: string, ...command: [string, ...string[]]): Promise<unknown> => {
  const client = new Redis(url);
  try {
    return await client.call(...command);
  } finally {
    client.disconnect();
  }
};

describe('the stores of npm start', function () {
  this.timeout(60_000);
  let dataDir = '';
  beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'trunkline-stores-'))));
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('PostgreSQL keeps what was committed when it is killed, and starts again on the same port', async () => {
    const first = await startPostgres({ dataDir });
    await query(first.url, "CREATE TABLE kept AS SELECT 'here' AS word");
    await first.kill();
    const second = await startPostgres({ dataDir, port: first.port });
    assert.deepEqual(await query(second.url, 'SELECT word FROM kept'), [{ word: 'here' }]);
    await second.stop();
    assert.equal(isRunning(second.pid), false);
  });

  it('a PostgreSQL that was left running is stopped, never shared', async () => {
    const first = await startPostgres({ dataDir });
    const notes: string[] = [];
    const second = await startPostgres({ dataDir, note: text => notes.push(text) });
    assert.equal(isRunning(first.pid), false);
    assert.match(notes.join(), new RegExp(`earlier start left running \\(process ${first.pid}\\)`));
    await second.stop();
  });

  it('a PostgreSQL without its password is not touched', async () => {
    const first = await startPostgres({ dataDir });
    await first.stop();
    rmSync(join(dataDir, 'postgres-password'));
    await assert.rejects(startPostgres({ dataDir }), /put it back, or delete the whole data folder/);
  });

  it('PostgreSQL wants its password and writes through to the disk', async () => {
    const server = await startPostgres({ dataDir });
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await assert.rejects(query(wrong.href, 'SELECT 1'), /password authentication failed/);
    const settings = await query(
      server.url,
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') ORDER BY 1",
    );
    assert.deepEqual(
      settings.map(row => row['setting']),
      ['on', 'on'],
    );
    await server.stop();
  });

  it('Redis keeps every answered command when it is killed', async () => {
    const first = await startRedis({ dataDir });
    assert.equal(await redisCommand(first.url, 'SET', 'word', 'here'), 'OK');
    await first.kill();
    const second = await startRedis({ dataDir, port: first.port, password: first.password });
    assert.equal(second.url, first.url);
    assert.equal(await redisCommand(second.url, 'GET', 'word'), 'here');
    await second.stop();
    assert.equal(isRunning(second.pid), false);
  });

  it('a Redis that was left running is stopped, never shared', async () => {
    const first = await startRedis({ dataDir });
    const second = await startRedis({ dataDir });
    assert.equal(isRunning(first.pid), false);
    await second.stop();
  });
});

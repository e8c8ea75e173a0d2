import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { fuzz } from '../../scripts/bench/fuzz.ts';
import { changes, storedNow, type Stored } from '../../scripts/bench/stored.ts';
import { testDatabase, testRedis } from '../support/database.ts';

describe('malformed requests', () => {
  it('are refused with an envelope, never with a failure of ours, and change nothing', async function () {
    this.timeout(60_000);
    const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
    const { statuses, complaints } = await fuzz(800, seed);
    assert.deepEqual(complaints, [], `seed ${seed}`);
    assert.ok((statuses[400] ?? 0) > 200, `seed ${seed}: ${JSON.stringify(statuses)}`);
  });
});

describe('what the fuzz takes for a change', () => {
  const stored = (kept: Record<string, [sum: string, expires: number]>): Stored =>
    new Map(Object.entries(kept).map(([name, [sum, expires]]) => [name, { sum, expires }]));
  const before = stored({ lasting: ['a', -1], leased: ['b', 1000] });
  for (const [what, after, now, expected] of [
    ['nothing, in another order', stored({ leased: ['b', 1000], lasting: ['a', -1] }), 500, []],
    ['a lease that ran out', stored({ lasting: ['a', -1] }), 1000, []],
    ['a lease that was prolonged', stored({ lasting: ['a', -1], leased: ['b', 9000] }), 500, []],
    ['a lease that somebody removed', stored({ lasting: ['a', -1] }), 999, ['-leased']],
    ['what was removed and has no time', stored({ leased: ['b', 1000] }), 5000, ['-lasting']],
    ['what holds something else', stored({ lasting: ['x', -1], leased: ['b', 1000] }), 500, ['~lasting']],
    ['what is new', stored({ lasting: ['a', -1], leased: ['b', 1000], more: ['c', 7000] }), 500, ['+more']],
  ] as [string, Stored, number, string[]][])
    it(`${what}: ${expected.join() || 'none'}`, () => assert.deepEqual(changes(before, after, now), expected));

  it('is seen in real stores: a row, a key, a value; a lease only before its time', async () => {
    const [database, { url }] = [await testDatabase(), await testRedis()];
    const redis = new Redis(url);
    try {
      await database.db.raw('create table spoiled (n int)');
      await redis.mset({ 'tl:a': '1', 'tl:b': '1', 'bull:own': '1' });
      await redis.set('tl:leased', '1', 'PX', 60_000);
      const first = await storedNow(database.db, redis);
      assert.deepEqual(changes(first, await storedNow(database.db, redis)), []);
      await database.db('spoiled').insert({ n: 1 });
      await redis.set('tl:a', '2');
      await redis.del('tl:b', 'tl:leased', 'bull:own');
      const spoiled = ['-key tl:b', '~key tl:a', '~table spoiled'];
      const last = await storedNow(database.db, redis);
      assert.deepEqual(changes(first, last), [spoiled[0], '-key tl:leased', ...spoiled.slice(1)]);
      assert.deepEqual(changes(first, last, Date.now() + 60_000), spoiled);
    } finally {
      redis.disconnect();
      await database.drop();
    }
  });
});

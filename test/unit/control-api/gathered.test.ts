import { strict as assert } from 'node:assert';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gathered } from '../../../control-api/http/gathered.ts';

describe('looking up who many requests come from', () => {
  it('asks once for all that came in one turn, and tells each its own', async () => {
    const asked: string[][] = [];
    const names = new Gathered(keys => {
      asked.push(keys);
      return Promise.resolve(new Map(keys.filter(key => key !== 'nobody').map(key => [key, `${key}!`])));
    });
    const answers = await Promise.all(['one', 'two', 'one', 'nobody'].map(key => names.get(key)));
    assert.deepEqual(answers, ['one!', 'two!', 'one!', undefined]);
    assert.deepEqual(asked, [['one', 'two', 'nobody']]);
  });

  it('never gives a request what was looked up before it came', async () => {
    let present = 'good';
    let release: () => void = () => undefined;
    const slow = new Promise<void>(resolve => (release = resolve));
    const names = new Gathered(async keys => {
      const seen = present;
      if (seen === 'good') await slow;
      return new Map(keys.map(key => [key, seen]));
    });
    const first = names.get('key');
    await nextTurn();
    present = 'revoked';
    assert.equal(await names.get('key'), 'revoked');
    release();
    assert.equal(await first, 'good');
  });

  it('fails all that asked together, and none that ask later', async () => {
    let away = true;
    const names = new Gathered(keys =>
      away ? Promise.reject(new Error('Postgres is away')) : Promise.resolve(new Map(keys.map(key => [key, key]))),
    );
    const failed = await Promise.allSettled([names.get('one'), names.get('two')]);
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    away = false;
    assert.equal(await names.get('one'), 'one');
  });
});

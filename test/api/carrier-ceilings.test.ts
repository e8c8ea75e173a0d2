import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { keys } from '#contract/keys';
import { Carriers } from '../../media-app/carrier/carriers.ts';
import { CallPlaces, Place, type Ceiling } from '../../media-app/carrier/places.ts';
import type { Provider } from '../../media-app/carrier/provider.ts';
import type { SipServers } from '../../media-app/sip/servers.ts';
import { testRedis } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const ANY: Ceiling = { most_calls: 0, most_calls_per_second: 0 };

describe('ceilings and circuits of carriers and customers', () => {
  let redis: Redis;
  let now = 1_000_000;
  const clock = (): number => now;
  before(async () => (redis = new Redis((await testRedis()).url)));
  after(() => redis.disconnect());

  const live = async (node: string): Promise<CallPlaces> => {
    await redis.set(keys.node(node), '{}');
    return new CallPlaces(redis, node, clock);
  };
  const held = async (scope: string, node: string): Promise<string | null> => redis.hget(keys.callPlaces(scope), node);

  it('two nodes share one ceiling; a call that ends makes room for another, once', async () => {
    const [one, two] = [await live('a1'), await live('a2')];
    const ceiling = { ...ANY, most_calls: 2 };
    const first = await one.take('customer:a', ceiling);
    assert.ok(first instanceof Place);
    assert.ok((await two.take('customer:a', ceiling)) instanceof Place);
    for (const node of [one, two]) assert.equal(await node.take('customer:a', ceiling), 'full');
    assert.ok((await one.take('customer:b', ceiling)) instanceof Place, 'another customer has room of its own');
    first.leave();
    first.leave();
    await eventually(
      'the place is given back',
      () => held('customer:a', 'a1'),
      count => count === '0',
    );
    assert.ok((await two.take('customer:a', ceiling)) instanceof Place);
    assert.equal(await one.take('customer:a', ceiling), 'full');
  });

  it('a node that dies gives all its places back', async () => {
    const [one, two] = [await live('b1'), await live('b2')];
    const ceiling = { ...ANY, most_calls: 3 };
    for (let n = 0; n < 3; n++) assert.ok((await one.take('customer:c', ceiling)) instanceof Place);
    assert.equal(await two.take('customer:c', ceiling), 'full');
    await redis.del(keys.node('b1'));
    for (let n = 0; n < 3; n++) assert.ok((await two.take('customer:c', ceiling)) instanceof Place);
    assert.equal(await two.take('customer:c', ceiling), 'full');
    assert.equal(await held('customer:c', 'b1'), null);
  });

  it('so many calls a second at once, then one in each part of the second; a refused one takes no place', async () => {
    const places = await live('d1');
    const ceiling = { ...ANY, most_calls_per_second: 2 };
    const take = async (): Promise<string> => {
      const taken = await places.take('customer:d', ceiling);
      return taken instanceof Place ? 'ok' : taken;
    };
    assert.deepEqual([await take(), await take(), await take()], ['ok', 'ok', 'fast']);
    now += 500;
    assert.deepEqual([await take(), await take()], ['ok', 'fast']);
    assert.equal(await held('customer:d', 'd1'), '3');
  });

  const provider = (id: string): Provider => ({
    ...{ id, name: id, hostname: `${id}.example`, tech_prefix: '', tech_postfix: '', tech_headers: {}, codecs: '' },
    ...{ username: '', password: '', register: false, allowed_ips: [], max_calls: 0, max_calls_per_second: 0 },
  });
  // Nothing here sends a request, so no SIP server is needed.
  const carriersOf = (node: string): Carriers =>
    new Carriers(redis, node, {} as SipServers, pino({ level: 'silent' }), clock);
  const order = async (carriers: Carriers, ids: string[]): Promise<string[]> =>
    (await carriers.inOrder(ids.map(provider))).map(({ id }) => id);

  it('a carrier that fails three calls in a row is tried last for half a minute', async () => {
    const carriers = carriersOf('e1');
    const line = carriers.line(provider('bad'), 'customer');
    const fail = (): void => line.answered(false);
    fail();
    fail();
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['bad', 'good']);
    fail();
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['good', 'bad']);
    now += 29_999;
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['good', 'bad']);
    now += 1;
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['bad', 'good']);
    fail();
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['good', 'bad'], 'one more failure opens it again');
  });

  it('an answer in between, or one call that works, closes the circuit', async () => {
    const carriers = carriersOf('f1');
    const line = carriers.line(provider('bad'), 'customer');
    for (const ok of [false, false, true, false, false]) line.answered(ok);
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['bad', 'good']);
    line.answered(false);
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['good', 'bad']);
    line.answered(true);
    assert.deepEqual(await order(carriers, ['bad', 'good']), ['bad', 'good']);
  });

  it('a carrier that OPTIONS found silent is tried last, until its hostname changes', async () => {
    const carriers = carriersOf('g1');
    const found = (hostname: string): string => JSON.stringify({ hostname, health_status: 'unhealthy' });
    await redis.set(keys.carrierHealth('ill'), found('ill.example'));
    assert.deepEqual(await order(carriers, ['ill', 'good']), ['good', 'ill']);
    await redis.set(keys.carrierHealth('ill'), found('old.example'));
    assert.deepEqual(await order(carriers, ['ill', 'good']), ['ill', 'good']);
  });

  it('a carrier at its ceiling of calls has no place for one more', async () => {
    const carriers = carriersOf('h1');
    await redis.set(keys.node('h1'), '{}');
    const line = carriers.line({ ...provider('small'), max_calls: 1 }, 'customer');
    const first = await line.enter();
    assert.ok(first);
    assert.equal(await line.enter(), undefined);
    first.leave();
    await eventually(
      'the place is given back',
      () => held('provider:small', 'h1'),
      count => count === '0',
    );
    assert.ok(await line.enter());
  });
});

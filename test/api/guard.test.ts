import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { keys } from '#contract/keys';
import { BanList } from '../../engine/sip/ban-list.ts';
import { silentLog } from '../../engine/sip/log.ts';
import { readSettings } from '../../media-app/config.ts';
import type { Customer } from '../../media-app/directory.ts';
import { Bans, MOST_BANS } from '../../media-app/sip/guard/bans.ts';
import { Guard } from '../../media-app/sip/guard/guard.ts';
import type { SipRequest } from '../../media-app/sip/srf.ts';
import { testRedis } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const SETTINGS = { DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x', SIP_SERVERS: 'drachtio://:x@127.0.0.1:1', MEDIA_SERVERS: 'freeswitch://:x@127.0.0.1:1' }; // prettier-ignore
const FIRST_BAN_MS = 60_000;

/** A request as drachtio-srf would show it. */
const from = (source_address: string, agent = ''): SipRequest =>
  ({ source_address, method: 'REGISTER', get: () => agent }) as unknown as SipRequest;

describe('the guard’s memory', () => {
  let redis: Redis;
  let url: string;
  const guards: Guard[] = [];
  const told: string[] = [];

  before(async () => {
    ({ url } = await testRedis());
    redis = new Redis(url);
  });
  afterEach(() => guards.splice(0).forEach(guard => guard.stop()));
  after(() => redis.disconnect());

  const bansOf = (limit = 20): Bans => new Bans(redis, { limit, window_ms: 60_000, ban_ms: FIRST_BAN_MS });

  /** The guard of a node, with the settings and providers given. */
  const node = async (more: { allowed?: string; on?: boolean; providers?: string[] } = {}): Promise<Guard> => {
    const { allowed = '', on = true, providers = [] } = more;
    const directory = {
      homeCustomer: () => Promise.resolve({ id: '00000000-0000-0000-0000-00000000000a' } as Customer),
      providerAddresses: () => Promise.resolve(providers),
    };
    const notices = { tell: ({ event_type }: { event_type: string }) => Promise.resolve(void told.push(event_type)) };
    const log = pino({ level: 'silent' });
    const guard = new Guard({ bans: bansOf(), directory, notices, allowed, on, log });
    guards.push(guard);
    await guard.start();
    return guard;
  };
  const offend = (guard: Guard, address: string, times: number): void => {
    for (let n = 0; n < times; n++) guard.offend(from(address), 'bad_credentials', 'A test.', true);
  };
  const banned = (source: string): Promise<number> => redis.sismember(keys.bannedSources, source);
  const untilBanned = (source: string): Promise<unknown> =>
    eventually(
      `a ban of ${source}`,
      () => banned(source),
      found => found === 1,
    );

  it('counts all addresses of an IPv6 network of 64 bits as one, for itself and the SIP server', async () => {
    const guard = await node();
    for (let n = 1; n <= 12; n++) offend(guard, `2001:db8:0:1:${n}::${n}`, 1);
    await untilBanned('2001:db8:0:1::/64');
    await eventually(
      'silence',
      () => guard.silences(from('2001:db8:0:1:ffff::99')),
      silent => silent,
    );
    assert.equal(guard.silences(from('2001:db8:0:2::1')), false);
    const list = new BanList(url, silentLog);
    list.start();
    await eventually(
      'the list',
      () => list.drops('2001:0db8::1:0:0:7:8'),
      drops => drops,
    );
    assert.deepEqual([list.drops('2001:db8:0:2::1'), list.drops('::ffff:192.0.2.1')], [false, false]);
    list.stop();
  });

  it('adds up what two nodes saw, and both obey', async () => {
    const [one, two] = [await node(), await node()];
    offend(one, '192.0.2.10', 6);
    offend(two, '192.0.2.10', 6);
    await untilBanned('192.0.2.10');
    for (const guard of [one, two])
      await eventually(
        'silence',
        () => guard.silences(from('192.0.2.10')),
        silent => silent,
      );
  });

  it('makes each ban of a day last twice as long as the one before', async () => {
    const bans = bansOf(1);
    const offence = { reason: 'scanner', points: 1, proven: false, detail: '' } as const;
    const lengths: number[] = [];
    for (let n = 0; n < 4; n++) {
      const began = Date.now();
      const ban = await bans.strike('192.0.2.20', offence);
      assert.equal(ban?.count, n + 1);
      lengths.push(Math.round((Date.parse(ban.tm_expire.replace(' ', 'T')) - began) / FIRST_BAN_MS));
      assert.equal(await bans.strike('192.0.2.20', offence), undefined, 'banned already');
      assert.equal((await bans.expire(Date.now() + 100 * FIRST_BAN_MS)).some(one => one.id === ban.id), true); // prettier-ignore
    }
    assert.deepEqual(lengths, [1, 2, 4, 8]);
  });

  it('never bans whom GUARD_ALLOW or a provider names, not even a scanner there', async () => {
    const guard = await node({ allowed: '192.0.2.30, 2001:db8:5::/48', providers: ['198.51.100.0/24'] });
    for (const address of ['192.0.2.30', '2001:db8:5:1::1', '198.51.100.7']) {
      offend(guard, address, 50);
      assert.equal(guard.silences(from(address, 'friendly-scanner')), false);
    }
    offend(guard, '192.0.2.31', 12);
    await untilBanned('192.0.2.31'); // so what came before it is counted
    assert.deepEqual(await redis.smembers(keys.bannedSources).then(all => all.filter(one => /\.30$|:5:|^198/.test(one))), []); // prettier-ignore
  });

  it('counts nothing and silences nobody when GUARD_LIMIT is off', async () => {
    assert.equal(readSettings({ ...SETTINGS, GUARD_LIMIT: 'off' }).GUARD_LIMIT, undefined);
    const [off, on] = [await node({ on: false }), await node()];
    offend(off, '192.0.2.40', 50);
    assert.equal(off.silences(from('192.0.2.40', 'friendly-scanner')), false);
    offend(on, '192.0.2.41', 12);
    await untilBanned('192.0.2.41');
    assert.equal(await banned('192.0.2.40'), 0);
    assert.equal(off.silences(from('192.0.2.41')), false);
  });

  it('makes no more bans than it may at a time, but those of an operator', async () => {
    const fill = Array.from({ length: MOST_BANS }, (_, n) => [`10.${n >> 8}.${n & 255}.1`, '{}']).flat();
    await redis.hset(keys.bans, ...fill);
    const bans = bansOf(1);
    const offence = { reason: 'scanner', points: 1000, proven: false, detail: '' } as const;
    assert.equal(await bans.strike('192.0.2.50', offence), undefined);
    assert.equal(await banned('192.0.2.50'), 0);
    assert.equal((await bans.add('192.0.2.50', 'By hand.', 1000))?.reason, 'manual');
    await redis.del(keys.bans);
  });
});

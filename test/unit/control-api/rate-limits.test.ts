import { strict as assert } from 'node:assert';
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { readConfig, ratesOf } from '../../../control-api/config.ts';
import { AddressLimit } from '../../../control-api/http/address-limit.ts';
import { clientAddress, parseProxies } from '../../../control-api/http/client-address.ts';

const NEEDED = { DATABASE_URL: 'postgres://u:p@127.0.0.1:5432/t', REDIS_URL: 'redis://127.0.0.1:6379' };

describe('the bucket of a client address', () => {
  let now = 0;
  const limit = (): AddressLimit => new AddressLimit({ per_second: 10, burst: 3 }, () => now);
  beforeEach(() => (now = 0));

  it('holds the burst and fills at the rate', () => {
    const bucket = limit();
    assert.deepEqual(
      [1, 2, 3].map(() => bucket.take('192.0.2.1')),
      [0, 0, 0],
    );
    assert.ok(Math.abs(bucket.take('192.0.2.1') - 0.1) < 1e-9);
    now = 100;
    assert.equal(bucket.take('192.0.2.1'), 0);
    assert.ok(bucket.take('192.0.2.1') > 0);
  });

  it('never holds more than the burst', () => {
    const bucket = limit();
    bucket.take('192.0.2.1');
    now = 60_000;
    const waits = Array.from({ length: 4 }, () => bucket.take('192.0.2.1'));
    assert.deepEqual(waits.slice(0, 3), [0, 0, 0]);
    assert.ok((waits[3] ?? 0) > 0);
  });

  it('is each address its own, and one for a network of IPv6', () => {
    const bucket = limit();
    for (let n = 0; n < 3; n++) bucket.take('192.0.2.1');
    assert.equal(bucket.take('192.0.2.2'), 0);
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::']) bucket.take(address);
    assert.ok(bucket.take('2001:db8:1:2::9') > 0);
    assert.equal(bucket.take('2001:db8:1:3::1'), 0);
  });

  it('is forgotten after ten quiet minutes, and the quietest first when there are too many', () => {
    const bucket = limit();
    for (let n = 0; n < 50; n++) bucket.take(`10.0.0.${n}`);
    now = 660_000;
    bucket.take('10.1.0.1');
    assert.equal(bucket.size, 1);
    for (let n = 0; n < 100_050; n++) bucket.take(`flood-${n}`);
    assert.ok(bucket.size <= 100_000);
  });
});

describe('the address of a client', () => {
  const table: [what: string, proxies: string, peer: string, forwarded: string | undefined, client: string][] = [
    ['is the peer without a proxy', '', '192.0.2.1', undefined, '192.0.2.1'],
    ['is the peer when nobody is trusted', '', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['is the peer when another is trusted', '10.0.0.0/8', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['is whom a trusted proxy names', '192.0.2.1', '192.0.2.1', '198.51.100.7', '198.51.100.7'],
    ['is the last one named, the rest is hearsay', '192.0.2.1', '192.0.2.1', '1.1.1.1, 198.51.100.7', '198.51.100.7'],
    ['is found behind two proxies', '192.0.2.0/24', '192.0.2.1', '198.51.100.7, 192.0.2.9', '198.51.100.7'],
    ['is the proxy that names no address', '192.0.2.1', '192.0.2.1', 'unknown', '192.0.2.1'],
    ['is the proxy that names nobody', '192.0.2.1', '192.0.2.1', undefined, '192.0.2.1'],
    ['may be IPv6', '::1, fd00::/8', '::1', '2001:db8::5, fd12::1', '2001:db8::5'],
    ['is IPv4 on a socket that speaks both', '10.0.0.0/8', '::ffff:10.1.2.3', '::ffff:198.51.100.7', '198.51.100.7'],
  ];
  for (const [what, proxies, peer, forwarded, client] of table)
    it(what, () => {
      const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
      const request = { headers, socket: { remoteAddress: peer } } as unknown as IncomingMessage;
      assert.equal(clientAddress(request, parseProxies(proxies) ?? new BlockList()), client);
    });

  it('is asked of no proxy that is no address', () => {
    const wrong = ['proxy.example', '10.0.0.0/33', '10.0.0/8', '::1/129', '10.0.0.1/x'];
    assert.deepEqual(wrong.map(parseProxies), Array(5).fill(undefined));
    assert.throws(() => readConfig({ ...NEEDED, TRUST_PROXY: 'proxy.example' }), /TRUST_PROXY is wrong/);
  });
});

describe('the settings of limits', () => {
  it('are those of the specification until changed', () => {
    assert.deepEqual(ratesOf(readConfig(NEEDED)), {
      auth_public: { per_second: 10, burst: 20 },
      auth_protected: { per_second: 10, burst: 20 },
      versioned: { per_second: 200, burst: 400 },
      customer: { per_second: 16.7, burst: 33 },
      direct: { per_second: 50, burst: 100 },
      delegate: { per_second: 8.3, burst: 16 },
    });
  });

  it('switch a tier off by name and by zero', () => {
    const off = { RATE_AUTH: 'off', RATE_ADDRESS: '0/5', RATE_CUSTOMER: '5/0' };
    const { auth_public, versioned, customer } = ratesOf(readConfig({ ...NEEDED, ...off }));
    assert.deepEqual([auth_public, versioned, customer], [undefined, undefined, undefined]);
  });

  it('are refused when they say nothing', () => {
    for (const text of ['fast', '10', '-1/5', '10/20/30'])
      assert.throws(() => readConfig({ ...NEEDED, RATE_CUSTOMER: text }), /RATE_CUSTOMER is wrong/);
  });
});

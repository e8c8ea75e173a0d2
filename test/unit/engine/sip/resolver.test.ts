import { strict as assert } from 'node:assert';
import type { Hop, Transport } from '../../../../engine/sip/hop.ts';
import { Resolver } from '../../../../engine/sip/resolver.ts';
import { NameServer, type NameRecord } from '../../../support/name-server.ts';

const a = (address: string, ttl = 60): NameRecord => ({ type: 'A', address, ttl });
const aaaa = (address: string): NameRecord => ({ type: 'AAAA', address });
const srv = (priority: number, weight: number, port: number, target: string): NameRecord => ({
  ...{ type: 'SRV', priority, weight, port, target },
});
const naptr = (order: number, preference: number, service: string, replacement: string): NameRecord => ({
  ...{ type: 'NAPTR', order, preference, service, replacement, flags: 's' },
});

/** A hop as a URI without transport and port names it. */
const open = (host: string, transport: Transport = 'udp'): Hop => ({ transport, host, port: 0, open: true });
const udp = (host: string, port = 0): Hop => ({ transport: 'udp', host, port });

describe('sip names', () => {
  let names: NameServer;
  let now: number;
  let spoken: Set<Transport>;
  let ipv6: boolean;
  let resolver: Resolver;

  before(async () => {
    names = await NameServer.start();
  });
  after(() => names.close());
  beforeEach(() => {
    names.asked.splice(0);
    now = 1_000_000;
    spoken = new Set(['udp', 'tcp', 'tls']);
    ipv6 = true;
    resolver = withServers([names.address]);
  });

  const withServers = (servers: string[]): Resolver =>
    new Resolver({
      ...{ servers, now: () => now },
      reaches: (transport, address) => spoken.has(transport) && (ipv6 || !address?.includes(':')),
    });

  const ways = async (hop: Hop, key = 'call'): Promise<string[]> =>
    (await resolver.waysTo(hop, key)).map(({ transport, host, port }) => `${transport} ${host}:${port}`);

  const cases: { title: string; zone: Record<string, NameRecord[]>; hop: Hop; expected: string[] }[] = [
    {
      title: 'a name with addresses alone is asked at the port of its transport, IPv4 first',
      zone: { 'plain.example': [aaaa('2001:db8::1'), a('192.0.2.1'), a('192.0.2.2')] },
      hop: open('plain.example'),
      expected: ['udp 192.0.2.1:5060', 'udp 192.0.2.2:5060', 'udp 2001:db8::1:5060'],
    },
    {
      title: 'a name with nothing but an AAAA record is reached there',
      zone: { 'six.example': [aaaa('2001:db8::6')] },
      hop: udp('six.example', 5070),
      expected: ['udp 2001:db8::6:5070'],
    },
    {
      title: 'SRV records are followed in the order of their priorities, each with its own port',
      zone: {
        '_sip._udp.srv.example': [srv(20, 1, 5062, 'two.srv.example'), srv(10, 1, 5061, 'one.srv.example.')],
        'one.srv.example': [a('192.0.2.11'), a('192.0.2.12')],
        'two.srv.example': [a('192.0.2.20')],
      },
      hop: udp('srv.example'),
      expected: ['udp 192.0.2.11:5061', 'udp 192.0.2.12:5061', 'udp 192.0.2.20:5062'],
    },
    {
      title: 'a port in the URI means that SRV records are not asked for (RFC 3263 4.2)',
      zone: { '_sip._udp.port.example': [srv(1, 1, 5099, 'elsewhere.example')], 'port.example': [a('192.0.2.30')] },
      hop: udp('port.example', 5064),
      expected: ['udp 192.0.2.30:5064'],
    },
    {
      title: 'NAPTR records choose the transport: the lowest order, then the preference',
      zone: {
        'naptr.example': [
          ...[
            naptr(50, 50, 'SIP+D2T', '_sip._tcp.naptr.example'),
            naptr(50, 10, 'SIPS+D2T', '_sips._tcp.naptr.example'),
          ],
          ...[naptr(90, 1, 'SIP+D2U', '_sip._udp.naptr.example'), naptr(1, 1, 'E2U+web', 'web.example')],
        ],
        '_sips._tcp.naptr.example': [srv(1, 1, 5061, 'edge.naptr.example')],
        '_sip._tcp.naptr.example': [srv(1, 1, 5060, 'edge.naptr.example')],
        'edge.naptr.example': [a('192.0.2.40')],
      },
      hop: open('naptr.example'),
      expected: ['tls 192.0.2.40:5061', 'tcp 192.0.2.40:5060'],
    },
    {
      title: 'a sips URI takes nothing but TLS from NAPTR records',
      zone: {
        'sips.example': [naptr(1, 1, 'SIP+D2U', '_sip._udp.sips.example'), naptr(2, 1, 'SIPS+D2T', '_x.sips.example')],
        '_x.sips.example': [srv(1, 1, 5071, 'edge.sips.example')],
        'edge.sips.example': [a('192.0.2.50')],
      },
      hop: open('sips.example', 'tls'),
      expected: ['tls 192.0.2.50:5071'],
    },
    {
      title: 'without NAPTR records a name with SRV records of TCP alone is reached by TCP',
      zone: { '_sip._tcp.tcp.example': [srv(1, 1, 5080, 'edge.tcp.example')], 'edge.tcp.example': [a('192.0.2.60')] },
      hop: open('tcp.example'),
      expected: ['tcp 192.0.2.60:5080'],
    },
    {
      title: 'a server of an SRV record that has no address is left out',
      zone: {
        '_sip._udp.half.example': [srv(1, 1, 5060, 'gone.example'), srv(2, 1, 5060, 'here.example')],
        'here.example': [a('192.0.2.70')],
      },
      hop: udp('half.example'),
      expected: ['udp 192.0.2.70:5060'],
    },
  ];
  for (const { title, zone, hop, expected } of cases)
    it(title, async () => {
      for (const [name, records] of Object.entries(zone)) names.tell(name, ...records);
      assert.deepEqual(await ways(hop), expected);
    });

  it('transports and addresses that we do not speak are left out', async () => {
    spoken = new Set(['udp']);
    ipv6 = false;
    names.tell('mixed.example', naptr(1, 1, 'SIP+D2T', '_t.example'), naptr(2, 1, 'SIP+D2U', '_u.example'));
    names.tell('_u.example', srv(1, 1, 5060, 'edge.mixed.example'));
    names.tell('edge.mixed.example', aaaa('2001:db8::9'), a('192.0.2.80'));
    assert.deepEqual(await ways(open('mixed.example')), ['udp 192.0.2.80:5060']);
    names.tell('only6.example', aaaa('2001:db8::9'));
    await assert.rejects(
      ways(udp('only6.example', 5060)),
      /cannot resolve only6.example: we cannot send to its addresses/,
    );
  });

  it('servers of one priority share the calls as their weights say, and a call stays with its server', async () => {
    names.tell('_sip._udp.weights.example', srv(1, 75, 5061, 'w.example'), srv(1, 25, 5062, 'w.example'));
    names.tell('w.example', a('192.0.2.90'));
    const first = new Map<string, number>();
    for (let call = 0; call < 2000; call++) {
      const [way = ''] = await ways(udp('weights.example'), `call ${call}`);
      first.set(way, (first.get(way) ?? 0) + 1);
    }
    const heavy = first.get('udp 192.0.2.90:5061') ?? 0;
    assert(heavy > 1400 && heavy < 1600, `${heavy} of 2000`);
    assert.deepEqual(await ways(udp('weights.example'), 'same'), await ways(udp('weights.example'), 'same'));
  });

  it('a name is asked for again when its time to live is over, and not before', async () => {
    names.tell('ttl.example', a('192.0.2.100', 20));
    const hop = udp('ttl.example', 5060);
    for (const later of [0, 19_000]) {
      now += later;
      await ways(hop);
    }
    assert.equal(names.asked.filter(one => one === 'A ttl.example').length, 1);
    names.tell('ttl.example', a('192.0.2.101', 20));
    now += 2000;
    assert.deepEqual(await ways(hop), ['udp 192.0.2.101:5060']);
  });

  it('a time to live of a day is believed for five minutes', async () => {
    names.tell('day.example', a('192.0.2.110', 86_400));
    await ways(udp('day.example', 5060));
    names.tell('day.example', a('192.0.2.111', 86_400));
    now += 299_000;
    assert.deepEqual(await ways(udp('day.example', 5060)), ['udp 192.0.2.110:5060']);
    now += 2000;
    assert.deepEqual(await ways(udp('day.example', 5060)), ['udp 192.0.2.111:5060']);
  });

  it('a server that failed comes last for a minute, and at once first again when it answers', async () => {
    names.tell('fails.example', a('192.0.2.120', 300), a('192.0.2.121', 300));
    const hop = udp('fails.example', 5060);
    const [first, second] = ['udp 192.0.2.120:5060', 'udp 192.0.2.121:5060'];
    resolver.avoid({ transport: 'udp', host: '192.0.2.120', port: 5060 });
    assert.deepEqual(await ways(hop), [second, first]);
    now += 61_000;
    assert.deepEqual(await ways(hop), [first, second]);
    resolver.avoid({ transport: 'udp', host: '192.0.2.120', port: 5060 }, 300);
    now += 61_000;
    assert.deepEqual(await ways(hop), [second, first]);
    resolver.trust({ transport: 'udp', host: '192.0.2.120', port: 5060 });
    assert.deepEqual(await ways(hop), [first, second]);
  });

  it('a name that does not exist is named with the reason, and asked for again soon', async () => {
    const hop = udp('nowhere.example', 5060);
    await assert.rejects(ways(hop), /^Error: cannot resolve nowhere.example: there is no such name$/);
    names.tell('nowhere.example', a('192.0.2.130'));
    now += 6000;
    assert.deepEqual(await ways(hop), ['udp 192.0.2.130:5060']);
  });

  it('name servers that cannot be reached are said so; what they said before stays good for an hour', async () => {
    const other = await NameServer.start();
    other.tell('stale.example', a('192.0.2.140', 10));
    resolver = withServers([other.address]);
    const hop = udp('stale.example', 5060);
    await ways(hop);
    other.close();
    now += 11_000;
    assert.deepEqual(await ways(hop), ['udp 192.0.2.140:5060']);
    await assert.rejects(ways(udp('new.example', 5060)), /cannot resolve new.example: no name server can be reached/);
    now += 3_600_000;
    await assert.rejects(ways(hop), /cannot resolve stale.example/);
  });

  it('addresses, and names under localhost, need no name server', async () => {
    assert.deepEqual(await ways(udp('192.0.2.9')), ['udp 192.0.2.9:5060']);
    assert.deepEqual(await ways(udp('acme.reg.trunkline.localhost')), ['udp 127.0.0.1:5060']);
    assert.deepEqual(names.asked, []);
  });
});

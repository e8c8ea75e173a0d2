import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import type { EventMessage } from '#contract/events';
import { keys } from '#contract/keys';
import type { Contact, Registration, ShownContact } from '#contract/registration';
import { engineOnly } from '../support/engine-only.ts';
import { eventually } from '../support/eventually.ts';
import type { SipHeader } from '../../scripts/phone/sip-message.ts';
import { withOffice, type Office, type PhoneAccount } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import { ownServers } from '../support/own-servers.ts';

type Extension = Registration & { id: string; extension: string; tm_create: string };

/** Turns the clock of an extension's contacts: they expired a moment ago. */
const timeIsOver = async (redisUrl: string, extensionId: string): Promise<void> => {
  const redis = new Redis(redisUrl);
  for (const [binding, text] of Object.entries(await redis.hgetall(keys.contacts(extensionId)))) {
    const expires_at = Date.now() - 1;
    await redis.hset(
      keys.contacts(extensionId),
      binding,
      JSON.stringify({ ...(JSON.parse(text) as Contact), expires_at }),
    );
    await redis.zadd(keys.contactEnds, expires_at, `${extensionId} ${binding}`);
  }
  redis.disconnect();
};

describe('phones register', function () {
  this.timeout(30_000);
  let office: Office;

  withOffice(opened => (office = opened));

  for (const algorithm of ['MD5', 'SHA-256']) {
    it(`with ${algorithm}`, async () => {
      const phone = await office.registered('1001', { algorithm, incoming: { autoAnswer: true } });
      await office.ring('1001', [{ type: 'beep' }]);
      await (await phone.waitForCall()).ended();
    });
  }

  for (const transport of ['tcp', 'tls', 'ws', 'wss'] as const) {
    it(`over ${transport.toUpperCase()}, and are called over the connection they opened`, async () => {
      const { sip, sipPorts } = office.stack;
      const server = { host: sip.host, port: transport === 'tcp' ? sip.port : sipPorts[transport] };
      const phone = await office.registered('1001', { transport, server });
      const actions = [{ type: 'play', option: { stream_urls: ['tone_stream://%(600,0,700)'] } }];
      const call = await office.ring('1001', actions);
      const incoming = await phone.waitForCall();
      incoming.answer();
      await incoming.hears(700);
      await incoming.ended();
      assert.equal((await office.ended(call.id)).hangup_reason, 'normal');
    });
  }

  const over = (transport: 'tls' | 'wss') => ({
    transport,
    server: { host: office.stack.sip.host, port: office.stack.sipPorts[transport] },
  });
  const nobodyRings = async (extension: string): Promise<void> => {
    const body = {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'extension', target: extension, target_name: extension }],
      actions: [],
    };
    const dial = async (): Promise<string> => JSON.stringify((await office.stack.api('POST', '/calls', body)).body);
    await eventually('a refusal', dial, text => text.includes(`Extension ${extension} is not registered`));
  };
  const outbound = (reg_id: number) => ({
    contactParameters: `;+sip.instance="<urn:uuid:00000000-0000-1000-8000-000a95a0e128>";reg-id=${reg_id}`,
    headers: [{ name: 'supported', value: 'path, outbound' }],
  });

  it('over WSS, and are not called any more when their page is closed', async () => {
    const phone = await office.phone('1002', over('wss'));
    await phone.register();
    await phone.stop();
    await nobodyRings('1002');
  });

  it('over TLS as a flow of outbound, which is gone with its connection', async () => {
    const phone = await office.phone('1002', over('tls'));
    await phone.register(outbound(1));
    await phone.stop();
    await nobodyRings('1002');
  });

  const extension = async (number: string): Promise<Extension> => {
    const { body } = await office.stack.api<{ result: Extension[] }>('GET', `/extensions?extension=${number}`);
    assert(body.result[0]);
    return body.result[0];
  };
  /** What the customer heard of an extension's phones, once it is `count`. */
  const phonesTold = (heard: EventMessage[], count: number): Promise<EventMessage[]> =>
    eventually(
      `${count} events of phones`,
      () => heard.filter(({ event_type }) => /^extension_(un)?registered$/.test(event_type)),
      told => told.length >= count,
    );

  it('and it is told, once for coming and once for going; the extension says so meanwhile', async () => {
    const heard = await office.listen();
    const phone = await office.phone('1001');
    await phone.register();
    await phone.register(); // again: nothing new
    const { id, registered, contacts, tm_last_seen } = await extension('1001');
    assert.equal(registered, true);
    const [contact] = contacts;
    assert(contact);
    assert.equal(contact.source_port, phone.local.port);
    assert.equal(contact.transport, 'udp');
    assert(contact.tm_expire > tm_last_seen, 'it expires later than it was seen');
    const listed = await office.stack.api<Extension>('GET', `/extensions/${id}`);
    assert.deepEqual(listed.body.contacts, contacts);
    await phone.unregister();
    const [came, went, ...more] = await phonesTold(heard, 2);
    assert(came && went);
    assert.deepEqual(more, []);
    assert.equal(came.event_type, 'extension_registered');
    assert.equal(came.topic, `customer_id:${office.stack.welcome.customer_id}:extension:${id}`);
    const data = came.data as unknown as Extension & { contact: ShownContact };
    assert.deepEqual([data.id, data.extension, data.registered], [id, '1001', true]);
    assert.deepEqual(data.contact.uri, contact.uri);
    assert(!('password' in data), 'no password is told');
    assert.match(data.tm_create, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/);
    assert.equal(went.event_type, 'extension_unregistered');
    assert.deepEqual(
      [went.data['registered'], went.data['reason'], went.data['contacts']],
      [false, 'unregistered', []],
    );
    const after = await extension('1001');
    assert.deepEqual([after.registered, after.contacts], [false, []]);
    assert(after.tm_last_seen >= tm_last_seen, 'it was seen when it unregistered');
  });

  engineOnly(
    'drachtio-server does not tell; they go at the next call or OPTIONS',
    'and it is told when their connection is gone, over TCP, TLS and WebSocket alike',
    async () => {
      const heard = await office.listen();
      for (const transport of ['tcp', 'tls', 'ws'] as const) {
        const { sip, sipPorts } = office.stack;
        const server = { host: sip.host, port: transport === 'tcp' ? sip.port : sipPorts[transport] };
        const phone = await office.phone('1002', { transport, server });
        await phone.register();
        await phone.stop();
      }
      const told = await phonesTold(heard, 6);
      assert.deepEqual(
        told
          .map(({ event_type, data }) => [
            event_type,
            (data['contact'] as ShownContact).transport,
            data['reason'] ?? '',
          ])
          .sort(),
        ['tcp', 'tls', 'ws']
          .flatMap(transport => [
            ['extension_registered', transport, ''],
            ['extension_unregistered', transport, 'connection_lost'],
          ])
          .sort(),
      );
      assert.equal((await extension('1002')).registered, false);
    },
  );

  it('and are not registered any more when their time is over, and it is told', async () => {
    const heard = await office.listen();
    const phone = await office.registered('1001');
    const { id, tm_last_seen } = await extension('1001');
    await timeIsOver(office.stack.redisUrl, id);
    const [, went] = await phonesTold(heard, 2);
    assert.deepEqual([went?.data['reason'], went?.data['registered']], ['expired', false]);
    assert.equal(went?.data['tm_last_seen'], tm_last_seen, 'it was not seen when it expired');
    assert.equal((await extension('1001')).registered, false);
    assert.equal(phone.messages('INVITE', 'received').length, 0);
  });

  it('once for each device and way: one that comes back takes the place of what it was', async () => {
    const [before, after, other] = [
      await office.phone('1001', over('tls')),
      await office.phone('1001', over('tls')),
      await office.phone('1001', over('wss')),
    ];
    await before.register(outbound(1));
    await after.register(outbound(1));
    const granted = after.messages('200 REGISTER').at(-1)?.message.headers ?? [];
    const said = granted.map(({ name, value }) => `${name}: ${value}`).join('\n');
    assert.match(said, /require: outbound/i);
    assert.match(said, /flow-timer: \d+/i);
    assert.match(said, /contact: [^,]*;reg-id=1$/im);
    await other.register(outbound(2));
    const call = await office.ring('1001', [{ type: 'beep' }]);
    (await other.waitForCall()).answer();
    await office.ended(call.id);
    assert.deepEqual(
      [before, after].map(phone => phone.messages('INVITE', 'received').length),
      [0, 0],
    );
    for (const phone of [after, other]) await phone.unregister();
  });

  it('through a proxy, whose Path becomes the Route of calls', async () => {
    const phone = await office.registered('1001');
    const path = '<sip:edge.example;lr;ob>, <sip:inner.example:5070;lr>';
    await phone.register({ headers: [{ name: 'path', value: path }] });
    const granted = phone.messages('200 REGISTER').at(-1)?.message.headers ?? [];
    const routesIn = (headers: SipHeader[], name: string): string =>
      headers
        .filter(one => one.name === name)
        .map(one => one.value)
        .join(', ');
    assert.equal(routesIn(granted, 'path'), path);
    await office.ring('1001', [{ type: 'beep' }]);
    const incoming = await phone.waitForCall();
    incoming.answer();
    const invite = phone.messages('INVITE', 'received')[0]?.message.headers ?? [];
    assert.equal(routesIn(invite, 'route'), path);
    await incoming.ended();
  });

  it('over TCP from one address under one name, and none is left with the call of the other', async () => {
    const options = { transport: 'tcp' as const, server: office.stack.sip };
    await office.registered('1001', options);
    const later = await office.registered('1001', options);
    await office.ring('1001', [{ type: 'beep' }]);
    // drachtio-server rings this one for both; what was meant for the other is taken back.
    const ringing = () => later.calls.filter(one => one.state === 'ringing');
    await later.message('INVITE', { direction: 'received' });
    const [own] = await eventually(
      'one call',
      ringing,
      found => found.length === 1 && later.calls.length === (ownServers() ? 2 : 1),
    );
    own?.answer();
    await own?.ended();
  });

  it('at a bare address, as those without a name for us do', async () => {
    const { host, port } = office.stack.sip;
    const phone = await office.registered('1001', { domain: `${host}:${port}` });
    await office.ring('1001', [{ type: 'beep' }]);
    (await phone.waitForCall()).answer();
    await phone.calls[0]?.ended();
  });

  it('at most three contacts an extension: a fourth takes the place of the oldest', async () => {
    const phones: TestPhone[] = [];
    for (let count = 0; count < 4; count++) phones.push(await office.registered('1002'));
    await office.ring('1002', [{ type: 'beep' }]);
    const [oldest, ...others] = phones;
    const [first, ...rest] = await Promise.all(others.map(phone => phone.waitForCall()));
    first?.answer();
    await first?.ended();
    await Promise.all(rest.map(call => call.ended()));
    assert.equal(oldest?.messages('INVITE', 'received').length, 0);
  });

  it('and are not called any more when they have unregistered', async () => {
    const phone = await office.registered('1002');
    await phone.unregister();
    const { status } = await office.stack.api<unknown>('POST', '/calls', {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'extension', target: '1002', target_name: '1002' }],
      actions: [],
    });
    assert.equal(status, 400);
  });

  it('and are forgotten when their extension is deleted; the event names the request that did it', async () => {
    const heard = await office.listen();
    const given = { extension: '1099', password: 'secret-1099' };
    const { body } = await office.stack.api<PhoneAccount & { id: string }>('POST', '/extensions', given);
    const phone = await office.phoneOf({ ...body, password: given.password });
    await phone.register();
    await phonesTold(heard, 1);
    const { headers } = await office.stack.api('DELETE', `/extensions/${body.id}`);
    const [came, went] = await phonesTold(heard, 2);
    assert(came && went);
    assert.deepEqual([went.event_type, went.data['reason']], ['extension_unregistered', 'extension_deleted']);
    assert.deepEqual([came.request_id, went.request_id], ['', headers.get('x-request-id')]);
  });

  it('an unknown user is told the same as one with a wrong password', async () => {
    const stranger = await office.phone('1001', { username: 'nobody', password: 'x' });
    await assert.rejects(stranger.register(), (error: { status?: number }) => error.status === 403);
  });

  it('a phone of an unknown customer gets nowhere', async () => {
    const stranger = await office.phone('1001', { domain: 'zzzz.reg.trunkline.localhost' });
    await assert.rejects(stranger.register(), (error: { status?: number }) => error.status === 403);
  });
});

import { strict as assert } from 'node:assert';
import { Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import { sharedStack } from '../support/stack.ts';

describe('phones register', function () {
  this.timeout(30_000);
  let office: Office;

  before(async () => {
    office = new Office(await sharedStack());
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
    office = new Office(office.stack);
  });

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

  it('an unknown user is told the same as one with a wrong password', async () => {
    const stranger = await office.phone('1001', { username: 'nobody', password: 'x' });
    await assert.rejects(stranger.register(), (error: { status?: number }) => error.status === 403);
  });

  it('a phone of an unknown customer gets nowhere', async () => {
    const stranger = await office.phone('1001', { domain: 'zzzz.reg.trunkline.localhost' });
    await assert.rejects(stranger.register(), (error: { status?: number }) => error.status === 403);
  });
});

import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { CarrierDesk, inviteHeader, OWN_NUMBER } from '../support/carrier.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { TestPhone } from '../support/phone.ts';
import { startStack, type Stack } from '../support/stack.ts';

const DOMAIN = 'trunkline.localhost';
const CALLEE = '+12125550123';

describe('calls from the world (accounts-and-plumbing 20, 21)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let office: Office;
  const callers: TestPhone[] = [];

  before(async () => {
    stack = await startStack({ env: { CARRIER_CHECK_MS: '1000' } });
    desk = await CarrierDesk.open(stack);
    await desk.db.query(
      'UPDATE outbound_configs SET default_outgoing_source_number_id = (SELECT id FROM numbers WHERE number = $1)',
      [OWN_NUMBER],
    );
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    const stopped = await Promise.allSettled(callers.splice(0).map(one => one.stop()));
    await office.close();
    await desk.clear();
    await office.nothingLeft();
    for (const result of stopped) if (result.status === 'rejected') throw result.reason;
  });
  after(async () => {
    await desk.close();
    await stack.stop();
  });

  /** Somebody who sends to our SIP server. */
  const caller = async (username: string, password = '', domain = DOMAIN): Promise<TestPhone> => {
    const phone = await TestPhone.start({ username, password, domain, server: stack.sip });
    callers.push(phone);
    return phone;
  };
  const incoming = async (): Promise<Call> => {
    const [call] = await eventually(
      'the call that came in',
      async () => (await office.calls(3)).filter(one => one.direction === 'incoming' && one.status !== 'hangup'),
      calls => calls.length > 0,
    );
    assert(call);
    return call;
  };
  const refused = async (phone: TestPhone, target: string): Promise<number | undefined> => {
    const before = (await office.calls(1)).map(one => one.id);
    const end = await (await phone.dial(target)).ended();
    assert.deepEqual(
      (await office.calls(1)).map(one => one.id),
      before,
      'no record is left',
    );
    return end.status;
  };
  const logged = (pattern: RegExp) =>
    eventually(
      'the log line',
      () => stack.logs().filter(line => pattern.test(line)),
      lines => lines.length > 0,
    );

  it('a carrier’s call to a number runs the number’s flow, from the caller as the carrier names it', async () => {
    const carrier = await desk.carrier();
    await desk.provider(carrier);
    const phone = await caller('+12125550199');
    const call = await phone.dial(`sip:${OWN_NUMBER}@pstn.${DOMAIN}`);
    await call.answered();
    const record = await incoming();
    assert.deepEqual(
      [record.source.type, record.source.target, record.destination.target, record.flow_id],
      ['tel', '+12125550199', OWN_NUMBER, stack.welcome.flow_id],
    );
    await call.hangup();
    await office.ended(record.id);
  });

  it('a carrier’s call to a number that nobody has is answered 404, and the log says what was looked for', async () => {
    await desk.provider(await desk.carrier());
    assert.equal(await refused(await caller('+12125550199'), `sip:+493000000000@pstn.${DOMAIN}`), 404);
    await logged(/INVITE refused: no live number with a call flow.*|"number":"\+493000000000"/);
  });

  it('whoever is no provider is answered 403 at the door of the telephone network', async () => {
    assert.equal(await refused(await caller('+12125550199'), `sip:${OWN_NUMBER}@pstn.${DOMAIN}`), 403);
    await logged(/no provider has this address/);
  });

  it('a provider is known by its allowed_ips too, with prefix lengths', async () => {
    await desk.provider(await desk.carrier(), { hostname: '192.0.2.1', allowed_ips: '["127.0.0.0/8"]' });
    const call = await (await caller('+12125550199')).dial(`sip:${OWN_NUMBER}@pstn.${DOMAIN}`);
    await call.answered();
    await call.hangup();
    await office.ended((await office.calls(1))[0]?.id ?? '');
  });

  describe('trunks', () => {
    const at = (name: string) => `sip:${CALLEE}@${name}.trunk.${DOMAIN}`;
    const rows: [
      title: string,
      trunk: Record<string, unknown> | undefined,
      login: string[],
      status: number | undefined,
    ][] = [
      ['by digest', {}, ['pbx', 'secret'], undefined],
      ['by a wrong password', {}, ['pbx', 'wrong'], 403],
      ['by a wrong name', {}, ['other', 'secret'], 403],
      ['by an address that is allowed', { auth_types: '["ip"]', allowed_ips: '["127.0.0.1"]' }, ['x', ''], undefined],
      ['by an address that is not allowed', { auth_types: '["ip"]', allowed_ips: '["192.0.2.0/24"]' }, ['x', ''], 403],
      [
        'by digest where its address is not allowed',
        { auth_types: '["basic", "ip"]', allowed_ips: '["192.0.2.1"]' },
        ['pbx', 'secret'],
        undefined,
      ],
      ['that does not exist', undefined, ['pbx', 'secret'], 403],
    ];
    for (const [title, trunk, [username = '', password = ''], status] of rows)
      it(`a trunk ${title} ${status ? `is refused with ${status}` : 'reaches the world, heard before the answer'}`, async () => {
        const carrier = await desk.carrier({}, { tone: 700 });
        await desk.routes([carrier]);
        if (trunk) await desk.trunk('office', trunk);
        const pbx = await caller(username, password, `office.trunk.${DOMAIN}`);
        if (status) return assert.equal(await refused(pbx, at('office')), status);
        const call = await pbx.dial(at('office'));
        const far = await carrier.waitForCall({ ring: false });
        far.progress();
        far.playTone(700);
        await call.hears(700);
        assert.equal(call.state !== 'answered', true);
        assert.equal(await inviteHeader(carrier, 'p-asserted-identity'), `<tel:${OWN_NUMBER}>`);
        far.answer();
        await call.answered();
        await call.hangup();
        await far.ended();
      });

    for (const [status, told] of [
      [486, 486],
      [404, 404],
      [503, 503],
      [484, 484],
    ] as const)
      it(`is told ${told} when the carrier says ${status}`, async () => {
        await desk.routes([await desk.carrier({ refuse: status })]);
        await desk.trunk('office');
        const call = await (await caller('pbx', 'secret', `office.trunk.${DOMAIN}`)).dial(at('office'));
        assert.equal((await call.ended()).status, told);
      });

    it('dials numbers that begin with + and nothing else', async () => {
      await desk.trunk('office');
      const pbx = await caller('pbx', 'secret', `office.trunk.${DOMAIN}`);
      assert.equal(await refused(pbx, `sip:1001@office.trunk.${DOMAIN}`), 404);
    });

    it('who asks for privacy stays anonymous to the callee, and known to the carrier', async () => {
      const carrier = await desk.carrier({ refuse: 486 });
      await desk.routes([carrier]);
      await desk.trunk('office');
      const pbx = await caller('pbx', 'secret', `office.trunk.${DOMAIN}`);
      await (await pbx.dial(at('office'), [{ name: 'privacy', value: 'id' }])).ended();
      assert.match((await inviteHeader(carrier, 'from')) ?? '', /anonymous@anonymous\.invalid/);
      assert.deepEqual(
        [await inviteHeader(carrier, 'privacy'), await inviteHeader(carrier, 'p-asserted-identity')],
        ['id', `<tel:${OWN_NUMBER}>`],
      );
    });
  });

  it('a phone of the house dials the world with the default number', async () => {
    const carrier = await desk.carrier({ autoAnswer: true }, { tone: 700 });
    await desk.routes([carrier]);
    const phone = await office.registered('1001', { tone: 500 });
    const call = await phone.dial(CALLEE);
    await call.answered();
    await call.hears(700);
    assert.equal(await inviteHeader(carrier, 'p-asserted-identity'), `<tel:${OWN_NUMBER}>`);
    await call.hangup();
    await (await carrier.waitForCall()).ended();
  });

  it('any other domain is answered 404', async () => {
    assert.equal(await refused(await caller('x'), `sip:1001@elsewhere.example`), 404);
  });

  it('a carrier is healthy while it answers OPTIONS, and unhealthy ones are dialled last', async () => {
    const [dead, well] = [await desk.carrier(), await desk.carrier({ refuse: 486 })];
    const [deadId, wellId] = await desk.routes([dead], [well]);
    dead.vanish();
    const health = async () => {
      const { rows } = await desk.db.query<{ id: string; health_status: string }>(
        'SELECT id, health_status FROM providers',
      );
      return new Map(rows.map(row => [row.id, row.health_status]));
    };
    const found = await eventually('the health', health, seen => ![...seen.values()].includes('unknown'), 20_000);
    assert.deepEqual([found.get(deadId ?? ''), found.get(wellId ?? '')], ['unhealthy', 'healthy']);
    const { body } = await stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: { type: 'tel', target: OWN_NUMBER },
      destinations: [{ type: 'tel', target: CALLEE }],
    });
    assert.equal((await office.ended(body.calls[0]?.id ?? '')).hangup_reason, 'busy');
  });

  it('a carrier that wants it is asked to register us, and brings calls to that contact', async () => {
    const carrier = await desk.carrier();
    await desk.provider(carrier, { username: 'us', password: 'secret', register: true });
    const { message } = await carrier.message('REGISTER', { direction: 'received', within_ms: 8000 });
    const headers = new Map(message.headers.map(one => [one.name, one.value]));
    assert.match(headers.get('contact') ?? '', new RegExp(`<sip:us@127\\.0\\.0\\.1:${stack.sip.port}>`));
    assert.match(headers.get('to') ?? '', /<sip:us@127\.0\.0\.1/);
    const call = await carrier.dial(`sip:${OWN_NUMBER}@127.0.0.1:${stack.sip.port}`);
    await call.answered();
    await call.hangup();
  });
});

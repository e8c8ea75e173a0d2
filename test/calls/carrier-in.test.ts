import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { EMPTY_ID } from '#contract/ids';
import { inviteHeader, OWN_NUMBER, withCarriers, type CarrierDesk } from '../support/carrier.ts';
import { leaksIn, leaksTo } from '../support/far-end.ts';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { TestPhone } from '../support/phone.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { Stranger } from '../support/stranger.ts';
import { parseMessage } from '../../scripts/phone/sip-message.ts';

const DOMAIN = 'trunkline.localhost';
const CALLEE = '+12125550123';
const MOST_CALLS_PER_SECOND = 10;

describe('calls from the world (accounts-and-plumbing 20, 21)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let office: Office;
  const callers: TestPhone[] = [];

  afterEach(async () => {
    const stopped = await Promise.allSettled(callers.splice(0).map(one => one.stop()));
    for (const result of stopped) if (result.status === 'rejected') throw result.reason;
  });
  withCarriers(
    (...opened) => {
      [office, desk] = opened;
      stack = office.stack;
    },
    () =>
      startStack({
        env: { CARRIER_CHECK_MS: '1000', CUSTOMER_MAX_CALLS_PER_SECOND: String(MOST_CALLS_PER_SECOND) },
      }),
    async opened => {
      await opened.standIn(OWN_NUMBER);
      await opened.number('+493055500177', { call_flow_id: EMPTY_ID });
    },
  );

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
      ['by a network that is allowed', { auth_types: '["ip"]', allowed_ips: '["127.0.0.0/8"]' }, ['x', ''], undefined],
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
        const challenged = trunk?.['auth_types'] === '["ip"]' ? 0 : 1;
        const far = await carrier.waitForCall({ ring: false });
        far.progress();
        far.playTone(700);
        await call.hears(700);
        assert.equal(call.state !== 'answered', true);
        assert.equal(pbx.messages('407 INVITE', 'received').length, challenged);
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

    it('an account places so many calls a second; trunk and API are told so beyond', async () => {
      const carrier = await desk.carrier({ refuse: 486 });
      await desk.routes([carrier]);
      await desk.trunk('office', { auth_types: '["ip"]', allowed_ips: '["127.0.0.1"]' });
      const pbx = await caller('x', '', `office.trunk.${DOMAIN}`);
      const dialled = await Promise.all(
        Array.from({ length: 3 * MOST_CALLS_PER_SECOND }, () => pbx.dial(at('office'))),
      );
      const statuses = (await Promise.all(dialled.map(call => call.ended()))).map(({ status }) => status);
      const [passed, refused] = [486, 503].map(status => statuses.filter(one => one === status).length);
      assert.equal((passed ?? 0) + (refused ?? 0), dialled.length, statuses.join());
      assert(passed !== undefined && passed >= MOST_CALLS_PER_SECOND && passed < dialled.length, statuses.join());
      const [source, destinations] = [{ type: 'tel', target: OWN_NUMBER }, [{ type: 'tel', target: CALLEE }]];
      const asked = Array.from({ length: 3 * MOST_CALLS_PER_SECOND }, () =>
        stack.api<{ calls: Call[]; error?: { reason: string; message: string } }>('POST', '/calls', {
          source,
          destinations,
        }),
      );
      const answers = await Promise.all(asked);
      const errors = answers.flatMap(({ status, body }) => (body.error ? [`${status} ${body.error.reason}`] : []));
      // The last calls of the trunk may still count.
      assert(errors.length > 0 && errors.length < asked.length, `${errors.length} refused`);
      assert.deepEqual([...new Set(errors)], ['429 RATE_LIMIT_EXCEEDED']);
      for (const { body } of answers) if (!body.error) await office.ended(body.calls[0]?.id ?? '');
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

  const shown: [caller: string, anonymous: string, from: RegExp, privacy: string | undefined][] = [
    ['withheld', 'auto', /anonymous@anonymous\.invalid/, 'id'],
    ['withheld', 'no', /<sip:\+493055500100@/, undefined],
    ['withheld', 'yes', /anonymous@anonymous\.invalid/, 'id'],
    ['named', 'auto', /<sip:\+493055500100@/, undefined],
    ['named', 'no', /<sip:\+493055500100@/, undefined],
    ['named', 'yes', /anonymous@anonymous\.invalid/, 'id'],
  ];
  it('a caller who is led on to a telephone is shown or withheld as connect says, and auto means as it came (25.5)', async () => {
    const carrier = await desk.carrier({ refuse: 486 });
    await desk.routes([carrier]);
    for (const [at, [who, anonymous, from, privacy]] of shown.entries()) {
      const option = { destinations: [{ type: 'tel', target: CALLEE }], anonymous };
      const flow = await stack.api<{ id: string }>('POST', '/flows', {
        name: 'On',
        actions: [{ type: 'connect', option }],
      });
      const number = `+49305550016${at}`;
      await desk.number(number, { call_flow_id: flow.body.id });
      const phone = await caller('+12125550199');
      const headers = who === 'withheld' ? [{ name: 'privacy', value: 'id' }] : [];
      await (await phone.dial(`sip:${number}@sip.${DOMAIN}`, headers)).ended();
      const title = `${who}, ${anonymous}`;
      assert.match((await inviteHeader(carrier, 'from', at + 1)) ?? '', from, title);
      assert.deepEqual(
        [await inviteHeader(carrier, 'privacy', at + 1), await inviteHeader(carrier, 'p-asserted-identity', at + 1)],
        [privacy, `<tel:${OWN_NUMBER}>`],
        title,
      );
    }
  });

  it('a phone of the house dials the world with the default number', async () => {
    const carrier = await desk.carrier({ autoAnswer: true }, { tone: 700 });
    await desk.routes([carrier]);
    const phone = await office.registered('1001', { tone: 500 });
    const domain = stack.welcome.extensions[0]?.domain_name;
    for (const target of [CALLEE, `sip:tel%3A${CALLEE}@${domain}`]) {
      const call = await phone.dial(target);
      await call.answered();
      await call.hears(700);
      await call.hangup();
      await (await carrier.waitForCall()).ended();
    }
    for (const count of [1, 2])
      assert.equal(await inviteHeader(carrier, 'p-asserted-identity', count), `<tel:${OWN_NUMBER}>`);
  });

  describe('a call that is refused before it is one is told to the customer whom it concerns', () => {
    const trunkLogin = ['pbx', 'wrong', `office.trunk.${DOMAIN}`];
    const rows: [
      title: string,
      login: string[] | undefined,
      target: string,
      status: number,
      sentence: RegExp,
      trunk?: Record<string, unknown>,
    ][] = [
      ['a wrong trunk password', trunkLogin, `${CALLEE}@office.trunk`, 403, /its own username pbx and password/],
      [
        'an address that a trunk does not take',
        ['x', '', `office.trunk.${DOMAIN}`],
        `${CALLEE}@office.trunk`,
        403,
        /127\.0\.0\.1 is not allowed: 192\.0\.2\.0\/24 would have matched/,
        { auth_types: '["ip"]', allowed_ips: '["192.0.2.0/24"]' },
      ],
      [
        'a trunk that dials no number',
        ['pbx', 'secret', `office.trunk.${DOMAIN}`],
        '1001@office.trunk',
        404,
        /called 1001: a number that begins with \+/,
      ],
      ['a wrong phone password', undefined, '1002@', 403, /password of that extension would have matched/],
      ['an extension that is not there', [], '4444@', 404, /1001 called 4444, which is no extension/],
      ['a conference that is not open', [], 'conference:4444@', 404, /an open conference of the account would/],
      [
        'a number that runs nothing',
        ['x'],
        '+493055500177@sip',
        404,
        /\+493055500177 .* with status active and a call/,
      ],
    ];
    for (const [title, login, target, status, sentence, trunk] of rows)
      it(`${title}: what did not match, and what would have`, async () => {
        await desk.trunk('office', trunk);
        const heard = await office.listen();
        const [account] = stack.welcome.extensions;
        const { username = '', password = '', domain_name = '' } = account ?? {};
        const home = login === undefined || login.length === 0;
        const [name = '', secret = '', domain = DOMAIN] = home
          ? [username, login ? password : 'wrong', domain_name]
          : login;
        const phone = await caller(name, secret, domain);
        const at = home ? `sip:${target}${domain_name}` : `sip:${target}.${DOMAIN}`;
        assert.equal(await refused(phone, at), status);
        const [event] = await eventually(
          'the event',
          () => heard.filter(one => one.event_type === 'invite_refused'),
          found => found.length > 0,
        );
        assert.match(String(event?.data['sentence']), sentence);
        assert.deepEqual([event?.data['sip_status'], event?.data['source_address']], [status, '127.0.0.1']);
      });

    it('a stranger who calls nobody is told to nobody', async () => {
      const heard = await office.listen();
      assert.equal(await refused(await caller('x'), `sip:+493012345678@sip.${DOMAIN}`), 404);
      await logged(/INVITE refused.*|"number":"\+493012345678"/);
      assert.deepEqual(heard, []);
    });
  });

  describe('a phone that asks for what it cannot have hears why', () => {
    type Row = [title: string, number: string, status: number, note: string, sentence: RegExp, sql?: [string, string]];
    const rows: Row[] = [
      ['a country that is not listed', '+33140000000', 403, 'outbound_whitelist_rejected', /lies in FR/],
      ['a number of no country', '+881612345678', 403, 'outbound_whitelist_rejected', /no country/],
      [
        'a caller without a number',
        CALLEE,
        403,
        'destination_rejected',
        /active normal number/,
        ["UPDATE numbers SET tm_delete = now() WHERE type = 'normal'", 'UPDATE numbers SET tm_delete = null'],
      ],
      [
        'an identity that nobody verified',
        CALLEE,
        403,
        'destination_rejected',
        /verified identity/,
        ["UPDATE customers SET identity_verification_status = 'none'", "UPDATE customers SET identity_verification_status = 'verified'"], // prettier-ignore
      ],
      ['no route', '+4930123456', 404, 'destination_rejected', /No route .* target \+49 or all/],
      ['a phone that is not registered', '1002', 480, 'destination_rejected', /1002 is not registered/],
    ];
    for (const [title, number, status, note, sentence, [before, after] = ['', '']] of rows)
      it(`${title}: ${status}, and the timeline says ${note}`, async () => {
        await desk.route(await desk.provider(await desk.carrier()), { target: '+1' });
        if (before) await desk.db.query(before);
        try {
          const phone = await office.phone('1001');
          const end = await (await phone.dial(number)).ended();
          assert.equal(end.status, status);
          const [call] = await office.calls(1);
          const { body } = await eventually(
            'the note',
            () => stack.api<{ result: { event_type: string; data: Record<string, unknown> }[] }>('GET', `/timelines/calls/${call?.id}/events`),
            seen => seen.body.result.some(one => one.event_type === note),
          ); // prettier-ignore
          const data = body.result.find(one => one.event_type === note)?.data;
          assert.match(String(data?.['sentence']), sentence);
          assert.deepEqual([data?.['call_id'], data?.['customer_id']], [call?.id, stack.welcome.customer_id]);
          if (number.startsWith('+33')) assert.equal(data?.['destination_country'], 'fr');
        } finally {
          if (after) await desk.db.query(after);
        }
      });
  });

  describe('nobody sees the other side of a call, nor our inside', () => {
    const told = [{ name: 'user-agent', value: 'SecretPhone/9.9' }];
    const bothBlind = (one: TestPhone, other: TestPhone): void => {
      assert.deepEqual(leaksTo(stack, one, [other]), []);
      assert.deepEqual(leaksTo(stack, other, [one]), []);
      const seen = [...one.messages('INVITE', 'received'), ...other.messages('INVITE', 'received')];
      assert.equal(JSON.stringify(seen).includes('SecretPhone'), false);
    };

    it('of a phone that calls the world', async () => {
      const carrier = await desk.carrier({ autoAnswer: true }, { host: '127.0.7.2' });
      await desk.routes([carrier, { hostname: `127.0.7.2:${carrier.local.port}` }]);
      const phone = await office.registered('1001', { host: '127.0.7.1' });
      const call = await phone.dial(CALLEE, told);
      await call.answered();
      await call.hangup();
      await (await carrier.waitForCall()).ended();
      bothBlind(phone, carrier);
    });

    it('of a phone that calls a phone, which hangs up', async () => {
      const one = await office.registered('1001', { host: '127.0.7.1' });
      const other = await office.registered('1002', { host: '127.0.7.3', incoming: { autoAnswer: true } });
      const call = await one.dial('1002', told);
      await call.answered();
      await (await other.waitForCall()).hangup();
      await call.ended();
      bothBlind(one, other);
    });

    it('of a carrier’s call that is connected to a phone, and of one that is refused', async () => {
      const callee = await office.registered('1002', { host: '127.0.7.3', incoming: { autoAnswer: true } });
      const actions = [{ type: 'connect', option: { destinations: [{ type: 'extension', target: '1002', target_name: '1002' }] } }]; // prettier-ignore
      const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'Topology', actions });
      await desk.number('+493055500188', { call_flow_id: flow.body.id });
      await desk.provider(await desk.carrier(), { hostname: '127.0.7.4' });
      const carrier = await TestPhone.start({ username: '+12125550199', domain: DOMAIN, server: stack.sip, host: '127.0.7.4' }); // prettier-ignore
      callers.push(carrier);
      const call = await carrier.dial(`sip:+493055500188@pstn.${DOMAIN}`, told);
      await call.answered();
      await call.hangup();
      await (await callee.waitForCall()).ended();
      await (await carrier.dial(`sip:+493000000000@pstn.${DOMAIN}`)).ended();
      bothBlind(carrier, callee);
    });

    it('of a scanner that asks for everything', async () => {
      const callee = await office.registered('1002', { host: '127.0.7.3' });
      const scanner = await Stranger.start('127.0.7.5', stack.sip);
      for (const method of ['OPTIONS', 'REGISTER', 'INVITE', 'SUBSCRIBE', 'MESSAGE', 'PUBLISH', 'INFO', 'BYE', 'FOO'])
        await scanner.ask({ method, uri: `sip:1002@${stack.welcome.extensions[0]?.domain_name}` }, 400);
      scanner.close();
      assert(scanner.heard.length >= 8, scanner.heard.join());
      assert.deepEqual(
        scanner.heard.flatMap(text => leaksIn(stack, parseMessage(Buffer.from(text, 'latin1')), [callee])),
        [],
      );
    });
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

import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { parseAuthorization } from '../../media-app/sip/digest.ts';
import { USD } from '#contract/billing';
import type { Call } from '#contract/call';
import { EMPTY_ID } from '#contract/ids';
import { fromDate } from '#contract/time';
import type { SipHeader } from '../../scripts/phone/sip-message.ts';
import { CarrierDesk, inviteHeader, invitedUri, OWN_NUMBER } from '../support/carrier.ts';
import { eventually } from '../support/eventually.ts';
import { LateCarrier } from '../support/late-carrier.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import type { TestPhone } from '../support/phone.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { SuspiciousCarrier } from '../support/suspicious-carrier.ts';

const tel = (target: string, more = {}) => ({ type: 'tel', target, ...more });
const CALLEE = '+12125550123';
/** The ceiling of an account, as this stack is set. */
const MOST_CALLS = 8;
const MOST_DOLLARS = 5;
const waiting = [{ type: 'sleep', option: { duration: 60_000 } }];

const hoursAgo = (hours: number): string => fromDate(new Date(Date.now() - hours * 3_600_000));

/** Refuses a call with headers of one's own. */
const rejectWith = (call: PhoneCall, status: number, headers: SipHeader[]): void =>
  (call.inner.sip as unknown as { reject(code: number, headers: SipHeader[]): void }).reject(status, headers);

interface Answer {
  calls: Call[];
  error?: { reason: string; message: string };
}

describe('calls to the world (accounts-and-plumbing 22, 23, 25)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let office: Office;

  before(async () => {
    stack = await startStack({
      env: { CUSTOMER_MAX_CALLS: String(MOST_CALLS), CUSTOMER_MAX_SPEND_PER_DAY: String(MOST_DOLLARS) },
    });
    desk = await CarrierDesk.open(stack);
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.close();
    await desk.clear();
    await office.nothingLeft();
  });
  after(async () => {
    await desk.close();
    await stack.stop();
  });

  const place = (body: Record<string, unknown> = {}) =>
    stack.api<Answer>('POST', '/calls', {
      source: tel(OWN_NUMBER),
      destinations: [tel(CALLEE)],
      actions: waiting,
      ...body,
    });
  const placed = async (body: Record<string, unknown> = {}): Promise<Call> => {
    const answer = await place(body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [call] = answer.body.calls;
    assert(call);
    return call;
  };
  const hangUp = async (call: Call): Promise<Call> => {
    await stack.api('POST', `/calls/${call.id}/hangup`);
    return office.ended(call.id);
  };
  const asSuperAdmin = async (): Promise<Record<string, string>> => {
    const { username, password } = stack.welcome;
    const login = await fetch(`${stack.baseUrl}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    });
    const { token } = (await login.json()) as { token: string };
    return { Authorization: `Bearer ${token}` };
  };
  const invites = (carrier: TestPhone): number =>
    new Set(carrier.messages('INVITE', 'received').map(one => one.message.headers.find(h => h.name === 'via')?.value))
      .size;

  describe('the INVITE', () => {
    it('goes to prefix, number and postfix at the provider’s host, with its headers and codecs, and is heard', async () => {
      const carrier = await desk.carrier({ autoAnswer: true }, { tone: 700 });
      const tech_headers = {
        'X-Account': 'seven',
        Privacy: 'none',
        'P-Asserted-Identity': '<tel:+1>',
        'X-Bad': 'a\r\nX-Evil: b',
        'X-Paren': '(a)',
        'X-Comma': 'a, b',
      };
      const tech = { tech_prefix: '99#', tech_postfix: ';cic=1', tech_headers, codecs: 'PCMA' };
      await desk.routes([carrier, tech]);
      const call = await placed({ actions: [{ type: 'echo', option: {} }] });
      const theirs = await carrier.waitForCall();
      await theirs.answered();
      const port = carrier.local.port;
      assert.equal(await invitedUri(carrier), `sip:99%23${CALLEE};cic=1@127.0.0.1:${port};transport=udp`);
      assert.deepEqual(
        await Promise.all(
          ['x-account', 'privacy', 'p-asserted-identity', 'x-bad', 'x-evil', 'x-paren', 'x-comma'].map(name =>
            inviteHeader(carrier, name),
          ),
        ),
        ['seven', undefined, `<tel:${OWN_NUMBER}>`, undefined, undefined, undefined, undefined],
      );
      const { message } = await carrier.message('INVITE', { direction: 'received' });
      assert.match(message.body, /m=audio \d+ RTP\/AVP 8 \d+\r\n/);
      await theirs.hears(700);
      assert.deepEqual([call.source.target, call.destination.target], [OWN_NUMBER, CALLEE]);
      await theirs.hangup();
      await office.ended(call.id);
    });

    const identities: [string, Record<string, unknown>, RegExp, string | undefined][] = [
      ['shows the source', {}, /^"\+493055500100" <sip:\+493055500100@/, undefined],
      ['shows the name', { source: tel(OWN_NUMBER, { target_name: 'Ann' }) }, /^"Ann" <sip:\+493055500100@/, undefined],
      ['is anonymous with privacy', { anonymous: 'yes' }, /^"Anonymous" <sip:anonymous@anonymous\.invalid>/, 'id'],
    ];
    for (const [title, body, from, privacy] of identities)
      it(`${title}; the carrier alone is told the number`, async () => {
        const carrier = await desk.carrier({ refuse: 486 });
        await desk.routes([carrier]);
        const call = await placed(body);
        assert.match((await inviteHeader(carrier, 'from')) ?? '', from);
        assert.equal(await inviteHeader(carrier, 'privacy'), privacy);
        assert.equal(await inviteHeader(carrier, 'p-asserted-identity'), `<tel:${OWN_NUMBER}>`);
        await office.ended(call.id);
      });

    const challenges: [status: 401 | 407, algorithm: string, hash: string][] = [
      [401, 'MD5', 'md5'],
      [407, 'MD5', 'md5'],
      [401, 'SHA-256', 'sha256'],
      [407, 'SHA-256', 'sha256'],
      [401, 'SHA-512-256', 'sha512-256'],
    ];
    for (const [status, algorithm, algorithmHash] of challenges)
      it(`is sent again with an answer to a ${status} challenge with ${algorithm}, and can be taken back then`, async () => {
        const carrier = await desk.carrier({ ring: false });
        await desk.routes([carrier, { username: 'us', password: 'secret' }]);
        const call = await placed();
        const first = await carrier.waitForCall({ ring: false });
        const name = status === 401 ? 'WWW-Authenticate' : 'Proxy-Authenticate';
        const value = `Digest realm="carrier", nonce="n0nce", algorithm=${algorithm}, qop="auth"`;
        rejectWith(first, status, [{ name, value }]);
        const second = await carrier.waitForCall();
        const answer = parseAuthorization(
          (await inviteHeader(carrier, status === 401 ? 'authorization' : 'proxy-authorization', 2)) ?? '',
        );
        assert(answer);
        const hash = (text: string) => createHash(algorithmHash).update(text).digest('hex');
        const secret = hash('us:carrier:secret');
        const what = hash(`INVITE:${answer['uri']}`);
        const expected = hash(`${secret}:n0nce:${answer['nc']}:${answer['cnonce']}:auth:${what}`);
        assert.deepEqual([answer['username'], answer['response']], ['us', expected]);
        await hangUp(call);
        assert.equal((await second.ended()).status, 487);
      });

    it('is proven to a proxy and to the carrier behind it, which both ask', async () => {
      const carrier = await desk.carrier({ ring: false });
      await desk.routes([carrier, { username: 'us', password: 'secret' }]);
      const call = await placed();
      const challenge = (name: string, realm: string) => [
        { name, value: `Digest realm="${realm}", nonce="n", qop="auth"` },
      ];
      rejectWith(await carrier.waitForCall({ ring: false }), 407, challenge('Proxy-Authenticate', 'proxy'));
      rejectWith(await carrier.waitForCall({ ring: false }), 401, challenge('WWW-Authenticate', 'carrier'));
      const third = await carrier.waitForCall();
      const realms = await Promise.all(
        ['proxy-authorization', 'authorization'].map(
          async name => parseAuthorization((await inviteHeader(carrier, name, 3)) ?? '')?.['realm'],
        ),
      );
      assert.deepEqual(realms, ['proxy', 'carrier']);
      await hangUp(call);
      assert.equal((await third.ended()).status, 487);
    });
  });

  it('a carrier that challenges everything with SHA-256 is proven to in the call as before it: re-INVITE and BYE too', async () => {
    const carrier = await SuspiciousCarrier.start();
    try {
      const login = { username: 'us', password: 'secret', hostname: `127.0.0.1:${carrier.port}` };
      await desk.route(await desk.provider(await desk.carrier(), login));
      const call = await placed();
      await office.progressing(call.id);
      assert.equal((await stack.api('POST', `/calls/${call.id}/hold`)).status, 200);
      await hangUp(call);
      assert.deepEqual(
        carrier.proven.filter(method => method !== 'OPTIONS'),
        ['INVITE', 'INVITE', 'BYE'],
      );
    } finally {
      carrier.stop();
    }
  });

  describe('failover (23.2)', () => {
    const rows: [title: string, status: number, again: boolean, reason: string][] = [
      ['302 moved', 302, true, ''],
      ['401 without credentials', 401, true, ''],
      ['403 rejected', 403, false, 'noanswer'],
      ['404 unallocated', 404, true, ''],
      ['408 no user response', 408, true, ''],
      ['410 number changed', 410, true, ''],
      ['480 no answer', 480, false, 'noanswer'],
      ['484 invalid number', 484, true, ''],
      ['486 busy', 486, false, 'busy'],
      ['488 no common codec', 488, true, ''],
      ['500 network out of order', 500, true, ''],
      ['501 not implemented', 501, true, ''],
      ['502 destination out of order', 502, true, ''],
      ['503 temporary failure', 503, true, ''],
      ['600 busy everywhere', 600, false, 'busy'],
      ['603 declined everywhere', 603, false, 'noanswer'],
      ['604 exists nowhere', 604, false, 'failed'],
      ['606 acceptable nowhere', 606, false, 'failed'],
    ];
    for (const [title, status, again, reason] of rows)
      it(`${title}: ${again ? 'the next route is dialled on the same call' : 'nobody else is dialled'}`, async () => {
        const [first, second] = [await desk.carrier({ refuse: status }), await desk.carrier({ autoAnswer: true })];
        await desk.routes([first], [second]);
        const heard = await office.listen();
        const call = await placed({ actions: [{ type: 'hangup', option: {} }] });
        const ended = await office.ended(call.id);
        assert.deepEqual([invites(first), invites(second)], [1, again ? 1 : 0]);
        assert.deepEqual([ended.tm_progressing !== null, ended.hangup_reason], [again, again ? 'normal' : reason]);
        const updated = () =>
          heard.filter(one => one.event_type === 'call_updated' && one.data['status'] === 'dialing').length;
        if (again) await eventually('call_updated', updated, count => count > 0);
      });

    it('302 leads to the next route and never to the Contact that it names', async () => {
      const [elsewhere, next] = [await desk.carrier(), await desk.carrier({ autoAnswer: true })];
      const mover = await desk.carrier({ ring: false });
      await desk.routes([mover], [next]);
      const call = await placed();
      const asked = await mover.waitForCall({ ring: false });
      rejectWith(asked, 302, [{ name: 'Contact', value: `<${elsewhere.address}>` }]);
      await (await next.waitForCall()).answered();
      await hangUp(call);
      assert.equal(invites(elsewhere), 0);
    });

    it('a carrier that rings or is heard, and then fails, is left for the next; nothing of it stays', async () => {
      const [first, second] = [await desk.carrier({ ring: false }), await desk.carrier({}, { tone: 900 })];
      await desk.routes([first], [second]);
      await desk.standIn(OWN_NUMBER);
      const phone = await office.phone('1001');
      const dialled = await phone.dial(CALLEE);
      const failing = await first.waitForCall({ ring: false });
      failing.progress();
      failing.playTone(700);
      await dialled.hears(700);
      failing.reject(503);
      const far = await second.waitForCall();
      far.answer();
      await dialled.answered();
      await dialled.hearsOnly([900]);
      await dialled.hangup();
      await far.ended();
      await desk.db.query(`UPDATE outbound_configs SET default_outgoing_source_number_id = '${EMPTY_ID}'`);
    });

    it('when every route fails the call ends as the last one said', async () => {
      const [first, second] = [await desk.carrier({ refuse: 503 }), await desk.carrier({ refuse: 404 })];
      await desk.routes([first], [second]);
      const ended = await office.ended((await placed()).id);
      assert.deepEqual([ended.hangup_by, ended.hangup_reason], ['remote', 'failed']);
    });

    it('a carrier that says nothing is left for the next unless it answers OPTIONS; one that wakes up late is not kept', async () => {
      const [silent, slow] = [await LateCarrier.start(), await LateCarrier.start({ there: true })];
      const [second, unused] = [await desk.carrier({ autoAnswer: true }), await desk.carrier()];
      const at = ({ port }: LateCarrier) => ({ hostname: `127.0.0.1:${port}` });
      await desk.route(await desk.provider(second, at(silent)), { target: '+1', priority: 0 });
      await desk.route(await desk.provider(second), { target: '+1' });
      await desk.route(await desk.provider(second, at(slow)), { target: '+49', priority: 0 });
      await desk.route(await desk.provider(unused), { target: '+49' });
      const [left, kept] = [await placed(), await placed({ destinations: [tel('+493012345678')] })];
      await (await second.waitForCall({ timeout_ms: 12_000 })).answered();
      await silent.say('180 Ringing');
      await silent.canceled;
      await slow.say('183 Session Progress'); // as late as the other was given up
      await eventually(
        'the slow carrier’s progress',
        () => office.call(kept.id),
        ({ status }) => status === 'ringing',
      );
      await slow.say('486 Busy Here');
      assert.equal((await office.ended(kept.id)).hangup_reason, 'busy');
      assert.equal((await hangUp(left)).hangup_reason, 'normal');
      assert.equal(invites(unused), 0);
      for (const one of [silent, slow]) one.stop();
    });

    it('a carrier that fails three calls in a row is dialled behind the others', async () => {
      const [bad, good] = [await desk.carrier({ refuse: 503 }), await desk.carrier({ refuse: 486 })];
      await desk.routes([bad], [good]);
      for (let n = 0; n < 4; n++) await office.ended((await placed()).id);
      assert.deepEqual([invites(bad), invites(good)], [3, 4]);
    });

    it('a call that is hung up while the first route fails is dialled no further', async () => {
      const [first, second] = [await desk.carrier(), await desk.carrier()];
      await desk.routes([first], [second]);
      const call = await placed();
      const ringing = await first.waitForCall();
      await hangUp(call);
      await ringing.ended();
      assert.equal(invites(second), 0);
    });

    it('an early execution that rings already stays where it rings', async () => {
      const [first, second] = [await desk.carrier(), await desk.carrier({ autoAnswer: true })];
      await desk.routes([first], [second]);
      const option = { source: tel(OWN_NUMBER), destinations: [tel(CALLEE)], actions: waiting, early_execution: true };
      await stack.api('POST', '/activeflows', { actions: [{ type: 'call', option }] });
      (await first.waitForCall()).reject(503);
      const call = await eventually(
        'the end',
        () => office.calls(1),
        ([one]) => one?.status === 'hangup',
      );
      assert.deepEqual([call[0]?.hangup_reason, invites(second)], ['failed', 0]);
    });
  });

  describe('routes (23.1)', () => {
    it('own before everybody’s, the calling code before all, lower priority first, each provider once', async () => {
      const names = ['de', 'all', 'default us', 'own us late', 'own us', 'own all'] as const;
      const carriers = new Map<string, TestPhone>();
      for (const name of names) carriers.set(name, await desk.carrier({ refuse: 503 }));
      const own = { customer_id: stack.welcome.customer_id };
      const provider = async (name: string) => desk.provider(carriers.get(name) as TestPhone);
      await desk.route(await provider('all'));
      await desk.route(await provider('default us'), { target: '+1' });
      await desk.route(await provider('own us late'), { ...own, target: '+1', priority: 5 });
      const best = await provider('own us');
      await desk.route(best, { ...own, target: '+1', priority: 2 });
      await desk.route(best, { target: 'all', priority: 0 });
      await desk.route(await provider('own all'), { ...own });
      await desk.route(await provider('de'), { ...own, target: '+49', priority: 0 });
      await office.ended((await placed()).id);
      const times = names.flatMap(name => {
        const [invite] = carriers.get(name)?.messages('INVITE', 'received') ?? [];
        return invite ? [{ name, at: invite.at }] : [];
      });
      assert.deepEqual(
        times.sort((a, b) => a.at - b.at).map(({ name }) => name),
        ['own us', 'own us late', 'own all', 'default us', 'all'],
      );
    });

    it('a deleted provider is passed over; without any route the call is refused', async () => {
      const [gone, there] = [await desk.carrier(), await desk.carrier({ refuse: 486 })];
      const [id] = await desk.routes([gone], [there]);
      await desk.db.query('UPDATE providers SET tm_delete = now() WHERE id = $1', [id]);
      assert.equal((await office.ended((await placed()).id)).hangup_reason, 'busy');
      assert.equal(invites(gone), 0);
      await desk.db.query('DELETE FROM routes');
      const { status, body } = await place();
      assert.deepEqual([status, body.error?.reason], [400, 'INVALID_ARGUMENT']);
      assert.match(body.error?.message ?? '', /No route/);
    });
  });

  describe('what is refused before anybody is dialled', () => {
    const rows: [title: string, body: Record<string, unknown>, status: number, reason: string, message: RegExp][] = [
      ['a country that is not listed', { destinations: [tel('+33140000000')] }, 403, 'PERMISSION_DENIED', /FR/],
      ['a neighbour under the same code', { destinations: [tel('+14165550123')] }, 403, 'PERMISSION_DENIED', /CA/],
      ['a number of no country', { destinations: [tel('+881612345678')] }, 403, 'PERMISSION_DENIED', /no country/],
      ['a source of somebody else', { source: tel('+493055500199') }, 400, 'INVALID_ARGUMENT', /source/],
      ['a virtual source', { source: tel('+899123456781') }, 400, 'INVALID_ARGUMENT', /source/],
    ];
    for (const [title, body, status, reason, message] of rows)
      it(`${title}: ${reason}`, async () => {
        const carrier = await desk.carrier();
        await desk.routes([carrier]);
        const answer = await place(body);
        assert.deepEqual([answer.status, answer.body.error?.reason], [status, reason]);
        assert.match(answer.body.error?.message ?? '', message);
        assert.equal(invites(carrier), 0);
      });

    it('the default number stands in for a source that is none, name and all', async () => {
      const carrier = await desk.carrier({ refuse: 486 });
      await desk.routes([carrier]);
      const id = await desk.number('+493055500101');
      await desk.db.query('UPDATE outbound_configs SET default_outgoing_source_number_id = $1', [id]);
      const call = await placed({ source: { type: 'extension', target: '1001', target_name: 'Desk' } });
      await desk.db.query(
        "UPDATE outbound_configs SET default_outgoing_source_number_id = '00000000-0000-0000-0000-000000000000'",
      );
      assert.deepEqual(
        [call.source.type, call.source.target, call.source.target_name],
        ['tel', '+493055500101', '+493055500101'],
      );
      assert.match((await inviteHeader(carrier, 'from')) ?? '', /^"\+493055500101" <sip:\+493055500101@/);
      await office.ended(call.id);
    });

    it('a withheld call whose source is no number is refused: the carrier could not be told who calls', async () => {
      const carrier = await desk.carrier();
      const provider_id = await desk.provider(carrier);
      const source = { type: 'extension', target: '1001' };
      const body = { provider_id, source, destinations: [tel(CALLEE)], actions: waiting, anonymous: 'yes' };
      const answer = await stack.api<Answer>('POST', '/providercalls', body, await asSuperAdmin());
      assert.deepEqual([answer.status, answer.body.error?.reason], [400, 'INVALID_ARGUMENT']);
      assert.match(answer.body.error?.message ?? '', /withheld call needs a source/);
      assert.equal(invites(carrier), 0);
    });

    it('the checks come in their order (25.6): identity, balance, config, country, route, source', async () => {
      await desk.db.query("UPDATE customers SET identity_verification_status = 'none' WHERE home");
      await desk.db.query("UPDATE billing_accounts SET plan_type = 'free', balance_token = 0, balance_credit = 0");
      await desk.db.query("UPDATE outbound_configs SET tm_delete = now(), destination_whitelist = '[]'");
      const repairs: [reason: string, message: RegExp, sql: string][] = [
        ['IDENTITY_VERIFICATION_REQUIRED', /identity/, "UPDATE customers SET identity_verification_status = 'verified' WHERE home"],
        ['INSUFFICIENT_BALANCE', /./, "UPDATE billing_accounts SET plan_type = 'unlimited'"],
        ['PERMISSION_DENIED', /outbound config/, 'UPDATE outbound_configs SET tm_delete = null'],
        ['PERMISSION_DENIED', /US/, `UPDATE outbound_configs SET destination_whitelist = '["de", "us"]'`],
      ]; // prettier-ignore
      const told = async (): Promise<[string, string]> => {
        const { error } = (await place({ source: tel('+493055500199') })).body;
        return [error?.reason ?? '', error?.message ?? ''];
      };
      for (const [reason, message, sql] of repairs) {
        const [found, words] = await told();
        await desk.db.query(sql);
        assert.equal(found, reason);
        assert.match(words, message);
      }
      assert.match((await told())[1], /No route/);
      await desk.routes([await desk.carrier()]);
      assert.match((await told())[1], /active normal number/);
    });

    it('an account without outbound config calls nobody, not even its own phones', async () => {
      await desk.db.query('UPDATE outbound_configs SET tm_delete = now()');
      const answer = await place({ destinations: [{ type: 'sip', target: 'sip:a@127.0.0.1' }] });
      await desk.db.query('UPDATE outbound_configs SET tm_delete = null');
      assert.deepEqual([answer.status, answer.body.error?.reason], [403, 'PERMISSION_DENIED']);
    });
  });

  describe('ceilings', () => {
    it('an account has so many calls to the world at a time; more are refused with their reason, to API and phone', async () => {
      const carrier = await desk.carrier();
      await desk.routes([carrier]);
      await desk.standIn(OWN_NUMBER);
      const calls = await Promise.all(Array.from({ length: MOST_CALLS }, () => placed()));
      const answer = await place();
      assert.deepEqual([answer.status, answer.body.error?.reason], [429, 'RESOURCE_LIMIT_EXCEEDED']);
      assert.match(answer.body.error?.message ?? '', new RegExp(`${MOST_CALLS} calls`));
      const phone = await office.phone('1001');
      assert.equal((await (await phone.dial(CALLEE)).ended()).status, 503);
      await hangUp(calls[0] as Call);
      calls[0] = await placed(); // there is room again
      await Promise.all(calls.map(hangUp));
      await desk.db.query(`UPDATE outbound_configs SET default_outgoing_source_number_id = '${EMPTY_ID}'`);
    });

    const spent: [title: string, entry: Record<string, unknown>, refused: boolean][] = [
      ['an entry of so much', { amount_credit: -MOST_DOLLARS * USD }, true],
      ['a call that has run up so much', { status: 'progressing', rate_credit_per_unit: MOST_DOLLARS * USD }, true],
      ['so much the day before', { amount_credit: -MOST_DOLLARS * USD, tm_create: hoursAgo(25) }, false],
      ['so much for something else', { amount_credit: -MOST_DOLLARS * USD, cost_type: 'sms' }, false],
    ];
    for (const [title, entry, refused] of spent)
      it(`an account spends so much on telephones in 24 hours; ${title} ${refused ? 'is told to API and phone' : 'is no reason'}`, async () => {
        const carrier = await desk.carrier();
        await desk.routes([carrier]);
        await desk.standIn(OWN_NUMBER);
        const id = await desk.spend(entry);
        try {
          const answer = await place();
          if (!refused) return void (await hangUp(answer.body.calls[0] as Call));
          assert.deepEqual([answer.status, answer.body.error?.reason], [429, 'RESOURCE_LIMIT_EXCEEDED']);
          assert.match(answer.body.error?.message ?? '', new RegExp(`${MOST_DOLLARS} dollars in 24 hours`));
          const phone = await office.phone('1001');
          assert.equal((await (await phone.dial(CALLEE)).ended()).status, 503);
          const [call] = await office.calls(1);
          await eventually(
            'the note',
            () => stack.api<{ result: { event_type: string; data: { sentence?: string } }[] }>('GET', `/timelines/calls/${call?.id}/events`),
            ({ body }) => body.result.some(({ event_type, data }) => event_type === 'destination_rejected' && /dollars in 24 hours/.test(data.sentence ?? '')),
          ); // prettier-ignore
          assert.equal(invites(carrier), 0);
        } finally {
          await desk.db.query('DELETE FROM billings WHERE id = $1', [id]);
          await desk.db.query(`UPDATE outbound_configs SET default_outgoing_source_number_id = '${EMPTY_ID}'`);
        }
      });

    it('an account that cannot pay calls nobody', async () => {
      const carrier = await desk.carrier();
      await desk.routes([carrier]);
      await desk.db.query('UPDATE billing_accounts SET plan_type = $1, balance_token = 0, balance_credit = 0', [
        'free',
      ]);
      const answer = await place();
      await desk.db.query('UPDATE billing_accounts SET plan_type = $1', ['unlimited']);
      assert.deepEqual([answer.status, answer.body.error?.reason], [402, 'INSUFFICIENT_BALANCE']);
      assert.equal(invites(carrier), 0);
    });

    it('a provider that is full, or asked too fast, is passed over', async () => {
      const [one, fast, rest] = [await desk.carrier(), await desk.carrier(), await desk.carrier()];
      await desk.routes([one, { max_calls: 1 }], [fast, { max_calls_per_second: 1 }], [rest]);
      const calls = [await placed()];
      await one.waitForCall();
      calls.push(await placed(), await placed());
      await rest.waitForCall();
      assert.deepEqual([invites(one), invites(fast), invites(rest)], [1, 1, 1]);
      await Promise.all(calls.map(hangUp));
      const again = await placed();
      await one.waitForCall(); // the place is free again
      await hangUp(again);
    });
  });

  describe('codecs of the outbound config', () => {
    it('are what a SIP address is offered, and no telephone', async () => {
      await desk.db.query("UPDATE outbound_configs SET codecs = 'PCMA'");
      const [phone, carrier] = [await desk.carrier({ refuse: 486 }), await desk.carrier({ refuse: 486 })];
      await desk.routes([carrier]);
      const calls = [await placed({ destinations: [{ type: 'sip', target: phone.address }] }), await placed()];
      const offered = async (one: TestPhone) =>
        /m=audio \d+ RTP\/AVP ([\d ]+)/.exec(
          (await one.message('INVITE', { direction: 'received' })).message.body,
        )?.[1];
      assert.match((await offered(phone)) ?? '', /^8 \d+$/);
      assert.match((await offered(carrier)) ?? '', /\b0\b.*\b8\b/);
      await desk.db.query("UPDATE outbound_configs SET codecs = ''");
      for (const call of calls) await office.ended(call.id);
    });
  });

  describe('virtual numbers (25.3)', () => {
    const insideOf = async (call: Call): Promise<Call> => {
      const side = (calls: Call[]) =>
        calls.find(one => one.direction === 'incoming' && one.tm_create! > call.tm_create!);
      const calls = await eventually(
        'the call that comes in',
        () => office.calls(3),
        seen => side(seen) !== undefined,
      );
      return side(calls) as Call;
    };

    it('are reached inside the house: a call at each end, heard, and each ends with the other', async () => {
      const actions = [
        { type: 'answer', option: {} },
        { type: 'play', option: { stream_urls: ['tone_stream://%(20000,0,900)'] } },
      ];
      const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'Tone', actions });
      await desk.number('+899123450009', { type: 'virtual', call_flow_id: flow.body.id });
      const phone = await desk.carrier({ autoAnswer: true });
      const hear = { type: 'connect', option: { source: tel(OWN_NUMBER), destinations: [tel('+899123450009')] } };
      const call = await placed({ destinations: [{ type: 'sip', target: phone.address }], actions: [hear] });
      const theirs = await phone.waitForCall();
      await theirs.hears(900);
      const inside = await insideOf(call);
      assert.deepEqual(
        [inside.flow_id, inside.source.target, inside.status],
        [flow.body.id, OWN_NUMBER, 'progressing'],
      );
      await theirs.hangup();
      assert.deepEqual(
        [(await office.ended(inside.id)).hangup_by, (await office.ended(call.id)).hangup_by],
        ['remote', 'remote'],
      );
    });

    it('that nobody has fail as unallocated, and flows that call each other in a circle come to an end', async () => {
      const ended = await office.ended((await placed({ destinations: [tel('+899123456780')] })).id);
      assert.equal(ended.hangup_reason, 'failed');
      const circle = { type: 'connect', option: { source: tel(OWN_NUMBER), destinations: [tel('+899123450010')] } };
      const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'Circle', actions: [circle] });
      await desk.number('+899123450010', { type: 'virtual', call_flow_id: flow.body.id });
      const first = await placed({ destinations: [tel('+899123450010')] });
      await office.ended(first.id);
    });
  });

  describe('provider calls (24)', () => {
    it('go through their provider alone, with any source; they are listed by provider and deleted', async () => {
      const headers = await asSuperAdmin();
      const [named, other] = [await desk.carrier({ refuse: 503 }), await desk.carrier()];
      const provider_id = await desk.provider(named);
      await desk.routes([other]);
      const body = { provider_id, source: tel('+493099999999'), destinations: [tel(CALLEE)], actions: waiting };
      const made = await stack.api<{ id: string; call_ids: string[] }>('POST', '/providercalls', body, headers);
      assert.equal(made.status, 200, JSON.stringify(made.body));
      const [id] = made.body.call_ids;
      assert.equal((await office.ended(id ?? '')).hangup_reason, 'failed');
      assert.equal(await inviteHeader(named, 'p-asserted-identity'), '<tel:+493099999999>');
      assert.equal(invites(other), 0);
      const listed = await stack.api<{ result: { id: string }[] }>(
        'GET',
        `/providercalls?provider_id=${provider_id}`,
        undefined,
        headers,
      );
      assert.deepEqual(
        listed.body.result.map(one => one.id),
        [made.body.id],
      );
      assert.equal((await stack.api('DELETE', `/providercalls/${made.body.id}`, undefined, headers)).status, 200);
      assert.equal((await stack.api('GET', `/providercalls/${made.body.id}`, undefined, headers)).status, 404);
      const french = await stack.api(
        'POST',
        '/providercalls',
        { ...body, destinations: [tel('+33140000000')] },
        headers,
      );
      assert.equal(french.status, 403);
    });
  });
});

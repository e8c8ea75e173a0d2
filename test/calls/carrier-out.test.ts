import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { parseAuthorization } from '../../media-app/sip/digest.ts';
import { CALLEE, invites, rejectWith, tel, waiting, withCallsOut, type CallsOut } from '../support/calls-out.ts';
import { inviteHeader, invitedUri, OWN_NUMBER, type CarrierDesk } from '../support/carrier.ts';
import { eventually } from '../support/eventually.ts';
import { LateCarrier } from '../support/late-carrier.ts';
import type { Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import type { Stack } from '../support/stack.ts';
import { SuspiciousCarrier } from '../support/suspicious-carrier.ts';

describe('calls to the world (accounts-and-plumbing 22, 23)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let office: Office;
  let out: CallsOut;

  withCallsOut((...opened) => {
    [office, desk, out] = opened;
    stack = office.stack;
  });

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
      const call = await out.placed({ actions: [{ type: 'echo', option: {} }] });
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
        const call = await out.placed(body);
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
        const call = await out.placed();
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
        await out.hangUp(call);
        assert.equal((await second.ended()).status, 487);
      });

    it('is proven to a proxy and to the carrier behind it, which both ask', async () => {
      const carrier = await desk.carrier({ ring: false });
      await desk.routes([carrier, { username: 'us', password: 'secret' }]);
      const call = await out.placed();
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
      await out.hangUp(call);
      assert.equal((await third.ended()).status, 487);
    });
  });

  it('a carrier that challenges everything with SHA-256 is proven to in the call as before it: re-INVITE and BYE too', async () => {
    const carrier = await SuspiciousCarrier.start();
    try {
      const login = { username: 'us', password: 'secret', hostname: `127.0.0.1:${carrier.port}` };
      await desk.route(await desk.provider(await desk.carrier(), login));
      const call = await out.placed();
      await office.progressing(call.id);
      assert.equal((await stack.api('POST', `/calls/${call.id}/hold`)).status, 200);
      await out.hangUp(call);
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
        const call = await out.placed({ actions: [{ type: 'hangup', option: {} }] });
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
      const call = await out.placed();
      const asked = await mover.waitForCall({ ring: false });
      rejectWith(asked, 302, [{ name: 'Contact', value: `<${elsewhere.address}>` }]);
      await (await next.waitForCall()).answered();
      await out.hangUp(call);
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
      await desk.standDown();
    });

    it('when every route fails the call ends as the last one said', async () => {
      const [first, second] = [await desk.carrier({ refuse: 503 }), await desk.carrier({ refuse: 404 })];
      await desk.routes([first], [second]);
      const ended = await office.ended((await out.placed()).id);
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
      const [left, kept] = [await out.placed(), await out.placed({ destinations: [tel('+493012345678')] })];
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
      assert.equal((await out.hangUp(left)).hangup_reason, 'normal');
      assert.equal(invites(unused), 0);
      for (const one of [silent, slow]) one.stop();
    });

    it('a carrier that fails three calls in a row is dialled behind the others', async () => {
      const [bad, good] = [await desk.carrier({ refuse: 503 }), await desk.carrier({ refuse: 486 })];
      await desk.routes([bad], [good]);
      for (let n = 0; n < 4; n++) await office.ended((await out.placed()).id);
      assert.deepEqual([invites(bad), invites(good)], [3, 4]);
    });

    it('a call that is hung up while the first route fails is dialled no further', async () => {
      const [first, second] = [await desk.carrier(), await desk.carrier()];
      await desk.routes([first], [second]);
      const call = await out.placed();
      const ringing = await first.waitForCall();
      await out.hangUp(call);
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
      await office.ended((await out.placed()).id);
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
      assert.equal((await office.ended((await out.placed()).id)).hangup_reason, 'busy');
      assert.equal(invites(gone), 0);
      await desk.db.query('DELETE FROM routes');
      const { status, body } = await out.place();
      assert.deepEqual([status, body.error?.reason], [400, 'INVALID_ARGUMENT']);
      assert.match(body.error?.message ?? '', /No route/);
    });
  });

  describe('codecs of the outbound config', () => {
    it('are what a SIP address is offered, and no telephone', async () => {
      await desk.db.query("UPDATE outbound_configs SET codecs = 'PCMA'");
      const [phone, carrier] = [await desk.carrier({ refuse: 486 }), await desk.carrier({ refuse: 486 })];
      await desk.routes([carrier]);
      const calls = [await out.placed({ destinations: [{ type: 'sip', target: phone.address }] }), await out.placed()];
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
});

import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { startStack, type Stack } from '../support/stack.ts';

const tone = (ms: number) => [{ type: 'play', option: { stream_urls: [`tone_stream://%(${ms},0,800)`] } }];
const verdictOf = (call: Call) => [call.hangup_by, call.hangup_reason];

describe('how calls end (voice-and-flows 8)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;

  before(async () => {
    stack = await startStack({ env: { DIAL_TIMEOUT_MS: '1500', HEALTH_CHECK_MS: '400', MAX_CALL_MS: '9000' } });
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft(40_000); // an unanswered BYE is repeated for 32 s
  });
  after(() => stack.stop());

  const refusals: [string, number, string][] = [
    ['a busy phone (486)', 486, 'busy'],
    ['a phone busy everywhere (600)', 600, 'busy'],
    ['a declined call (603)', 603, 'noanswer'],
    ['a phone that does not want to be disturbed (480)', 480, 'noanswer'],
    ['a phone that is broken (500)', 500, 'failed'],
  ];
  for (const [title, status, reason] of refusals) {
    it(`${title} ends the call as ${reason}, by the far end`, async () => {
      await office.registered('1001', { incoming: { refuse: status } });
      const call = await office.ring('1001', tone(500));
      assert.deepEqual(verdictOf(await office.ended(call.id)), ['remote', reason]);
    });
  }

  it('a phone that rings and is not answered ends as dialout when the dial timer runs out', async () => {
    const phone = await office.registered('1001');
    const call = await office.ring('1001', tone(500));
    await (await phone.waitForCall()).ended();
    assert.deepEqual(verdictOf(await office.ended(call.id)), ['remote', 'dialout']);
  });

  it('a caller who cancels while it rings ends both calls, and the phone stops ringing', async () => {
    const alice = await office.registered('1001');
    const bob = await office.registered('1002');
    const out = await alice.dial('1002');
    const incoming = await bob.waitForCall();
    await out.ringing();
    await out.cancel();
    await incoming.ended();
    const [leg, caller] = await eventually(
      'both records',
      () => office.calls(2),
      calls => calls.every(one => one.status === 'hangup'),
    );
    assert(leg && caller);
    assert.deepEqual(verdictOf(caller), ['remote', 'normal']);
    assert.deepEqual(verdictOf(leg), ['local', 'cancel']);
  });

  it('a caller to a busy colleague is told busy', async () => {
    const alice = await office.registered('1001');
    await office.registered('1002', { incoming: { refuse: 486 } });
    const out = await alice.dial('1002');
    const end = await out.ended();
    assert.deepEqual([end.by, end.status], ['refused', 486]);
  });

  it('a caller who hangs up during talk ends the flow', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', [
      {
        type: 'talk',
        option: {
          text: 'This is a long announcement that nobody will ever listen to until its very end, because it goes on and on and on.',
          language: 'en-US',
        },
      },
      ...tone(500),
    ]);
    const incoming = await phone.waitForCall();
    await incoming.hearsSpeech();
    await incoming.hangup();
    assert.deepEqual(verdictOf(await office.ended(call.id)), ['remote', 'normal']);
    const { body } = await stack.api<{ status: string }>('GET', `/activeflows/${call.activeflow_id}`);
    assert.equal(body.status, 'ended');
  });

  it('a phone that vanishes without BYE is found out and hung up', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', [{ type: 'sleep', option: { duration: 60_000 } }]);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    phone.vanish();
    assert.deepEqual(verdictOf(await office.ended(call.id, 40_000)), ['remote', 'normal']);
  });

  it('a call that lasts too long ends as timeout', async () => {
    const phone = await office.registered('1002', { incoming: { autoAnswer: true } });
    const call = await office.ring('1002', [{ type: 'sleep', option: { duration: 60_000 } }]);
    await (await phone.waitForCall()).ended({ within_ms: 12_000 });
    assert.deepEqual(verdictOf(await office.ended(call.id)), ['remote', 'timeout']);
  });

  it('a wrong password is challenged, then forbidden', async () => {
    const phone = await office.phone('1001', { password: 'not-the-password' });
    await assert.rejects(phone.register(), (error: { status?: number }) => error.status === 403);
    assert.equal(phone.messages('401 REGISTER', 'received').length, 1);
    assert.equal(phone.messages('403 REGISTER', 'received').length, 1);
  });

  for (const [title, dialled] of [
    ['a number nobody owns', '+899123456789'],
    ['an extension that does not exist', '1999'],
  ] as const) {
    it(`${title} is answered 404 and leaves no record`, async () => {
      const phone = await office.registered('1001');
      const before = await office.calls(1);
      const end = await (await phone.dial(dialled)).ended();
      assert.deepEqual([end.by, end.status], ['refused', 404]);
      assert.deepEqual(
        (await office.calls(1)).map(one => one.id),
        before.map(one => one.id),
      );
    });
  }

  it('an extension that exists and is registered nowhere is answered 480', async () => {
    const phone = await office.registered('1001');
    const end = await (await phone.dial('1002')).ended();
    assert.deepEqual([end.by, end.status], ['refused', 480]);
  });
});

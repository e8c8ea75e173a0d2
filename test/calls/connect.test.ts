import { strict as assert } from 'node:assert';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { TestPhone } from '../support/phone.ts';
import { sharedStack } from '../support/stack.ts';

const tone = (hz: number) => ({ type: 'play', option: { stream_urls: [`tone_stream://%(700,0,${hz})`] } });
const to = (phone: TestPhone, more = {}) => ({
  type: 'connect',
  option: {
    source: { type: 'tel', target: '+899111222333' },
    destinations: [{ type: 'sip', target: phone.address }],
    ...more,
  },
});

describe('connect in a flow', function () {
  this.timeout(30_000);
  let office: Office;
  let stranger: TestPhone;

  beforeEach(async () => {
    office = new Office(await sharedStack());
    stranger = await TestPhone.start({ username: 'stranger', tone: 1300 });
  });
  afterEach(async () => {
    await office.close();
    await stranger.stop();
    await office.nothingLeft();
  });

  it('an answered caller hears ringback, then the callee, and the flow goes on when the callee leaves', async () => {
    const alice = await office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    await office.ring('1001', [to(stranger), tone(900)]);
    const caller = await alice.waitForCall();
    await caller.hears(425);
    const callee = await stranger.waitForCall();
    callee.answer();
    await caller.hearsOnly([1300]);
    await callee.hearsOnly([500]);
    await callee.hangup();
    await caller.hears(900);
    await caller.ended();
  });

  it('goes on when the callee is busy', async () => {
    const alice = await office.registered('1001', { incoming: { autoAnswer: true } });
    stranger.incoming = { refuse: 486 };
    await office.ring('1001', [to(stranger), tone(900)]);
    const caller = await alice.waitForCall();
    await caller.hears(900);
    await caller.ended();
  });

  it('with relay_reason the call ends with the callee, and nothing after connect is heard', async () => {
    const alice = await office.registered('1001', { incoming: { autoAnswer: true } });
    stranger.incoming = { refuse: 486 };
    const call = await office.ring('1001', [to(stranger, { relay_reason: true }), tone(900)]);
    const caller = await alice.waitForCall();
    await caller.ended();
    assert(!caller.tonesSoFar().some(hz => Math.abs(hz - 900) < 10));
    assert.equal((await office.ended(call.id)).hangup_by, 'local');
  });

  it('a caller who hangs up while it rings takes the callee along', async () => {
    const alice = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', [to(stranger), tone(900)]);
    const caller = await alice.waitForCall();
    const callee = await stranger.waitForCall();
    await eventually(
      'the link',
      () => office.call(call.id),
      one => one.chained_call_ids.length === 1,
    );
    await caller.hangup();
    await callee.ended();
    const over = await eventually(
      'the end',
      () => office.call(call.id),
      one => one.status === 'hangup',
    );
    const [chained] = over.chained_call_ids;
    assert(chained);
    const leg = await office.ended(chained);
    assert.deepEqual([leg.hangup_by, leg.hangup_reason, leg.master_call_id], ['local', 'cancel', call.id]);
  });
});

import { strict as assert } from 'node:assert';
import { onEngine } from '../support/engine-only.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { TestPhone } from '../support/phone.ts';
import { sharedStack } from '../support/stack.ts';

const tone = (hz: number) => ({ type: 'play', option: { stream_urls: [`tone_stream://%(700,0,${hz})`] } });
const connect = (phones: TestPhone[], more = {}) => ({
  type: 'connect',
  option: {
    source: { type: 'tel', target: '+899111222333' },
    destinations: phones.map(({ address }) => ({ type: 'sip', target: address })),
    early_media: true,
    ...more,
  },
});

describe('early media and early execution (voice-and-flows 6.4)', function () {
  this.timeout(30_000);
  let office: Office;
  let carrier: TestPhone;
  let other: TestPhone;

  beforeEach(async () => {
    office = new Office(await sharedStack());
    carrier = await TestPhone.start({ username: 'carrier', tone: 1300 });
    other = await TestPhone.start({ username: 'other', tone: 1700 });
  });
  afterEach(async () => {
    await office.close();
    await carrier.stop();
    await other.stop();
    await office.nothingLeft();
  });

  /** A phone of the office dials a number that is bound to these actions. */
  const dials = async (actions: unknown[]): Promise<PhoneCall> => {
    const { stack } = office;
    const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'early', actions });
    const free = await stack.api<{ result: { number: string }[] }>(
      'GET',
      '/available_numbers?type=virtual&page_size=1',
    );
    const { body } = await stack.api<{ number: string }>('POST', '/numbers', {
      number: free.body.result[0]?.number,
      call_flow_id: flow.body.id,
    });
    const phone = await office.registered('1001', { tone: 500 });
    return phone.dial(body.number);
  };

  it('an answered caller hears the announcement of the far end in place of ringback, then talks', async () => {
    const alice = await office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    await office.ring('1001', [connect([carrier]), tone(900)]);
    const [caller, callee] = [await alice.waitForCall(), await carrier.waitForCall({ ring: false })];
    await caller.hears(425);
    callee.progress();
    await caller.hearsOnly([1300]);
    callee.answer();
    await callee.hearsOnly([500]);
    await caller.hearsOnly([1300]);
    await callee.hangup();
    await caller.hears(900);
    await caller.ended();
  });

  it('a caller who is not answered hears it too, is answered with the callee, and is released by its cause', async () => {
    const caller = await dials([connect([carrier], { relay_reason: true }), tone(900)]);
    const callee = await carrier.waitForCall({ ring: false });
    callee.progress();
    await caller.hearsOnly([1300]);
    assert.equal(caller.times.answered, undefined);
    callee.answer();
    await caller.answered();
    await callee.hearsOnly([500]);
    await callee.hangup();
    await caller.ended();
    assert(!caller.tonesSoFar().some(hz => Math.abs(hz - 900) < 10));
  });

  for (const status of [486, 603])
    it(`with relay_reason a caller who heard an announcement is told ${status} when the far end says so`, async () => {
      const caller = await dials([connect([carrier], { relay_reason: true })]);
      const callee = await carrier.waitForCall({ ring: false });
      callee.progress();
      await caller.hears(1300);
      callee.reject(status);
      const end = await caller.ended();
      assert.deepEqual([end.by, end.status], ['refused', status]);
    });

  it('a caller who gives up during the announcement takes the far end along', async () => {
    const caller = await dials([connect([carrier])]);
    const callee = await carrier.waitForCall({ ring: false });
    callee.progress();
    await caller.hears(1300);
    await caller.cancel();
    await callee.ended();
  });

  it('when the one that was heard refuses, ringback comes back until another answers', async () => {
    const alice = await office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    await office.ring('1001', [connect([carrier, other])]);
    const caller = await alice.waitForCall();
    const [first, second] = [await carrier.waitForCall({ ring: false }), await other.waitForCall()];
    first.progress();
    await caller.hearsOnly([1300]);
    first.reject(486);
    await caller.hears(425);
    second.answer();
    await caller.hearsOnly([1700]);
    await second.hearsOnly([500]);
    await caller.hangup();
    await second.ended();
  });

  it('without early_media an announcement is not heard', async () => {
    const alice = await office.registered('1001', { incoming: { autoAnswer: true } });
    const { id } = await office.ring('1001', [connect([carrier], { early_media: false })]);
    const [caller, callee] = [await alice.waitForCall(), await carrier.waitForCall({ ring: false })];
    callee.progress();
    await eventually(
      'the ringing of the leg',
      async () => Promise.all((await office.call(id)).chained_call_ids.map(leg => office.call(leg))),
      ([leg]) => leg?.status === 'ringing',
    );
    await caller.hearsOnly([425]);
    assert(!caller.tonesSoFar().some(hz => Math.abs(hz - 1300) < 10));
    callee.answer();
    await caller.hearsOnly([1300]);
    await caller.hangup();
    await callee.ended();
  });

  const placed = (more: Record<string, unknown>) => ({
    type: 'call',
    option: {
      source: { type: 'tel', target: '+899111222333' },
      destinations: [{ type: 'sip', target: carrier.address }],
      ...more,
    },
  });

  it('a caller who heard the far end before it refused hears what the flow then plays, answers of nobody', async () => {
    const caller = await dials([connect([carrier]), tone(900), { type: 'beep' }, tone(1900)]);
    const callee = await carrier.waitForCall({ ring: false });
    callee.progress();
    await caller.hearsOnly([1300]);
    callee.reject(486);
    await caller.hears(900);
    await caller.hears(1900);
    assert.equal(caller.times.answered, undefined, 'play answers nobody (6.3)');
    const end = await caller.ended();
    assert.deepEqual([end.by, end.status], ['refused', 486]);
  });

  it('a call with early_execution runs its flow while it rings: its hangup takes the call back', async () => {
    await office.registered('1001', { incoming: { autoAnswer: true } });
    await office.ring('1001', [placed({ actions: [{ type: 'hangup' }], early_execution: true })]);
    const rung = await carrier.waitForCall();
    await rung.ended();
    assert.equal(rung.times.answered, undefined);
    assert.equal(carrier.messages('CANCEL', 'received').length, 1);
    for (const call of office.phones.flatMap(phone => phone.calls)) await call.ended();
  });

  it('a call without it runs its flow when it is answered', async () => {
    await office.registered('1001', { incoming: { autoAnswer: true } });
    await office.ring('1001', [placed({ actions: [tone(900)] }), { type: 'sleep', option: { duration: 60_000 } }]);
    const rung = await carrier.waitForCall();
    assert.equal(rung.state, 'ringing');
    rung.answer();
    await rung.hears(900);
    await rung.ended();
    for (const call of office.phones.flatMap(phone => phone.calls)) await call.hangup();
  });

  for (const chained of [true, false])
    it(`a call that is ${chained ? '' : 'not '}chained ${chained ? 'ends with' : 'outlives'} the call that placed it`, async () => {
      const alice = await office.registered('1001', { incoming: { autoAnswer: true } });
      const wait = { type: 'sleep', option: { duration: 60_000 } };
      const master = await office.ring('1001', [placed({ actions: [tone(900), wait], chained }), wait]);
      const [caller, rung] = [await alice.waitForCall(), await carrier.waitForCall()];
      rung.answer();
      await rung.hears(900);
      const { chained_call_ids } = await office.call(master.id);
      assert.equal(chained_call_ids.length, chained ? 1 : 0);
      await caller.hangup();
      await office.ended(master.id);
      if (!chained) assert.equal(rung.state, 'answered');
      if (!chained) await rung.hangup();
      await rung.ended();
    });

  it('stream_echo gives a caller its own tone and keys back', async () => {
    const alice = await office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    await office.ring('1001', [{ type: 'stream_echo', option: { duration: 60_000 } }]);
    const caller = await alice.waitForCall();
    await caller.hears(500);
    await onEngine('FreeSWITCH tells of keys only when the echo is over', async () => {
      await caller.press('17');
      await eventually(
        'both keys',
        () => caller.digits(),
        digits => digits === '17',
      );
    });
    await caller.hangup();
  });
});

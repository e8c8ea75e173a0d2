import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';

interface Refusal {
  error: { reason: string; message: string };
}

const TONES: Record<string, number> = { 1: 700, 2: 1100, 3: 1500 };
const HANGUP = 'f0000000-0000-4000-8000-0000000000ff';
const target = (digit: string) => `f0000000-0000-4000-8000-00000000000${digit}`;

/** Speaks, waits for one key, and answers each key with a tone of its own. */
const menu = [
  { type: 'talk', option: { text: 'Welcome to Trunkline. Please press a key.', language: 'en-US' } },
  { type: 'digits_receive', option: { duration: 8000, length: 1 } },
  {
    type: 'branch',
    option: { default_target_id: HANGUP, target_ids: { 1: target('1'), 2: target('2'), 3: target('3') } },
  },
  ...Object.entries(TONES).map(([digit, hz]) => ({
    id: target(digit),
    next_id: HANGUP,
    type: 'play',
    option: { stream_urls: [`tone_stream://%(1500,0,${hz})`] },
  })),
  { id: HANGUP, type: 'hangup', option: {} },
];

describe('a call placed through the API', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  for (const [digit, hz] of Object.entries(TONES)) {
    it(`rings the phone, speaks, and answers key ${digit} with ${hz} Hz before it hangs up`, async () => {
      const phone = await office.registered('1001');
      const call = await office.ring('1001', menu);
      assert.equal(call.status, 'dialing');
      const incoming = await phone.waitForCall();
      incoming.answer();
      await incoming.hearsSpeech();
      await incoming.press(digit);
      await incoming.hears(hz);
      assert.equal((await incoming.ended()).by, 'them');
      const over = await office.ended(call.id);
      assert.equal(over.hangup_by, 'local');
      assert.equal(over.hangup_reason, 'normal');
      for (const time of ['tm_create', 'tm_ringing', 'tm_progressing', 'tm_hangup'] as const)
        assert.match(over[time] ?? '', /^20\d\d-/, time);
    });
  }

  it('takes the key of a phone that knows no telephone-event from its tones', async () => {
    const phone = await office.registered('1001', { events: false });
    await office.ring('1001', menu.slice(1));
    const incoming = await phone.waitForCall();
    incoming.answer();
    await incoming.answered();
    await incoming.press('2');
    await incoming.hears(TONES[2] ?? 0);
    await incoming.ended();
  });

  it('tells the same story in order, once, over WebSocket and webhook', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const heard = await office.listen();
    const { received, headers } = await office.webhook();
    const call = await office.ring('1001', [{ type: 'play', option: { stream_urls: ['tone_stream://%(300,0,900)'] } }]);
    const incoming = await phone.waitForCall();
    await incoming.ended();
    const about = (messages: typeof heard) => messages.filter(one => one.topic.endsWith(`:call:${call.id}`));
    await eventually(
      'the last event by webhook',
      () => about(received),
      list => list.some(one => one.event_type === 'call_hangup'),
    );
    await eventually(
      'the last event by WebSocket',
      () => about(heard),
      list => list.some(one => one.event_type === 'call_hangup'),
    );

    const story = about(heard)
      .map(one => one.event_type)
      .filter(type => type !== 'call_updated');
    assert.deepEqual(story, ['call_created', 'call_ringing', 'call_progressing', 'call_terminating', 'call_hangup']);
    assert.deepEqual(
      about(received).map(one => one.id),
      about(heard).map(one => one.id),
      'the same events under the same ids',
    );
    const sequences = heard.map(one => one.sequence);
    assert.deepEqual(
      sequences,
      [...sequences].sort((a, b) => a - b),
    );
    assert.equal(new Set(received.map(one => one.id)).size, received.length, 'no event came twice');
    assert.match(String(headers[0]?.['x-webhook-signature']), /^sha256=[0-9a-f]{64}$/);
  });

  it('is hung up by the API while it rings: the phone stops and the call ends as cancel', async () => {
    const phone = await office.registered('1001');
    const call = await office.ring('1001', menu);
    const incoming = await phone.waitForCall();
    const { status, body } = await office.stack.api<Call>('POST', `/calls/${call.id}/hangup`);
    assert.equal(status, 200);
    assert.equal(body.status, 'canceling');
    await incoming.ended();
    const over = await office.ended(call.id);
    assert.deepEqual([over.hangup_by, over.hangup_reason], ['local', 'cancel']);
    const again = await office.stack.api('POST', `/calls/${call.id}/hangup`);
    assert.equal(again.status, 409);
  });

  it('to an extension nobody registered is refused with a reason and leaves no record', async () => {
    const before = await office.calls(1);
    const { status, body } = await office.stack.api<Refusal>('POST', '/calls', {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'extension', target: '1999', target_name: '1999' }],
      actions: menu,
    });
    assert.equal(status, 400);
    assert.equal(body.error.reason, 'INVALID_ARGUMENT');
    assert.match(body.error.message, /1999/);
    assert.deepEqual(
      (await office.calls(1)).map(one => one.id),
      before.map(one => one.id),
    );
  });
});

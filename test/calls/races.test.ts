import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Recording } from '#contract/recording';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { TestPhone } from '../support/phone.ts';
import { sharedStack, type Stack } from '../support/stack.ts';

const ROUNDS = 12;
/** Milliseconds by which one of the two is ahead: from clearly first over the same instant to clearly second. */
const lead = (round: number): number => (round - ROUNDS / 2) * 4;
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)));
const waiting = [{ type: 'sleep', option: { duration: 60_000 } }];

describe('two things in the same instant', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;
  let phones: TestPhone[];

  before(async () => {
    stack = await sharedStack();
  });
  beforeEach(async () => {
    office = new Office(stack);
    const start = (_: unknown, round: number) =>
      TestPhone.start({ username: `racer${round}`, domain: 'race.invalid', server: stack.sip });
    phones = await Promise.all(Array.from({ length: ROUNDS }, start));
  });
  afterEach(async () => {
    await Promise.all(phones.map(phone => phone.stop()));
    await office.close();
    await office.nothingLeft(15_000);
  });

  /** Every round on a phone and a call of its own, all at once. */
  const race = async <T>(round: (phone: TestPhone, call: Call, lead: number) => Promise<T>): Promise<T[]> =>
    Promise.all(
      phones.map(async (phone, index) => {
        const { status, body } = await stack.api<{ calls: Call[] }>('POST', '/calls', {
          source: { type: 'tel', target: stack.welcome.number },
          destinations: [{ type: 'sip', target: phone.address }],
          actions: waiting,
        });
        const [call] = body.calls;
        assert(call, `${status} ${JSON.stringify(body)}`);
        return round(phone, call, lead(index));
      }),
    );

  const order = (what: string, call: Call, body?: object) => stack.api<Call>('POST', `/calls/${call.id}/${what}`, body);
  const progressing = (id: string) => office.progressing(id);

  /** What clients were told of a call, in order. */
  const story = async (id: string): Promise<string[]> => {
    const { body } = await stack.api<{ result: { event_type: string }[] }>('GET', `/timelines/calls/${id}/events`);
    return body.result.map(({ event_type }) => event_type);
  };
  const once = async (id: string, event: string) => {
    const told = await eventually(
      `${event} told`,
      () => story(id),
      all => all.includes(event),
    );
    assert.equal(told.filter(one => one === event).length, 1, `${event} once in ${told.join(' ')}`);
  };

  it('an answer against a cancel: the call is over, its end is told once, and says which came first', async () => {
    const ends = await race(async (phone, call, ahead) => {
      const incoming = await phone.waitForCall();
      await Promise.all([
        pause(ahead).then(() => order('hangup', call)),
        pause(-ahead).then(() => incoming.state !== 'ended' && incoming.answer()),
      ]);
      await incoming.ended();
      const over = await office.ended(call.id);
      const answered = over.tm_progressing !== null;
      assert.deepEqual([over.hangup_by, over.hangup_reason], ['local', answered ? 'normal' : 'cancel']);
      await once(call.id, 'call_hangup');
      return answered;
    });
    assert.equal(ends.length, ROUNDS);
  });

  it('both sides hang up: the call is over once, normally', async () => {
    await race(async (phone, call, ahead) => {
      const incoming = await phone.waitForCall({ autoAnswer: true });
      await progressing(call.id);
      const [ordered] = await Promise.all([
        pause(ahead).then(() => order('hangup', call)),
        pause(-ahead).then(() => incoming.hangup()),
      ]);
      assert.ok([200, 409].includes(ordered.status), `${ordered.status}`);
      const over = await office.ended(call.id);
      assert.ok(['local', 'remote'].includes(over.hangup_by));
      assert.equal(over.hangup_reason, 'normal');
      await once(call.id, 'call_hangup');
    });
  });

  it('a recording is stopped while the call is hung up: it ends once and keeps its file', async () => {
    await race(async (phone, call, ahead) => {
      const incoming = await phone.waitForCall({ autoAnswer: true });
      await progressing(call.id);
      incoming.playTone(500);
      assert.equal((await order('recording_start', call, {})).status, 200);
      const [stopped] = await Promise.all([
        pause(ahead).then(() => order('recording_stop', call)),
        pause(-ahead).then(() => incoming.hangup()),
      ]);
      assert.ok([200, 409].includes(stopped.status), `${stopped.status}`);
      const over = await office.ended(call.id);
      const [recording = ''] = over.recording_ids;
      assert.equal(over.recording_id, '00000000-0000-0000-0000-000000000000');
      const ended = await eventually(
        'the end of the recording',
        async () => (await stack.api<Recording>('GET', `/recordings/${recording}`)).body,
        ({ status }) => status === 'ended',
      );
      const files = await stack.api<unknown[]>('GET', `/recordings/${ended.id}/playfiles`);
      assert.ok(files.status === 200, JSON.stringify(files.body));
      assert.ok(JSON.stringify(files.body).includes('_in.wav'), JSON.stringify(files.body));
      await once(call.id, 'call_hangup');
    });
  });
});

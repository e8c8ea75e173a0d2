import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Reason } from '#contract/errors';
import { newId } from '#contract/ids';
import { reasonOf, type Answer, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';
import { aCall } from './events-rig.ts';

type Json = Record<string, unknown>;
const outcome = (answer: Answer): unknown[] => [answer.status, reasonOf(answer) ?? answer.text];

describe('what is asked of a live call', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));
  beforeEach(() => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: {} });
  });

  const callOf = (id: string, status: Call['status'], more: Partial<Call> = {}): Call =>
    aCall(api.welcome.customer_id, { id, status, ...more });
  const live = async (status: Call['status'], more: Partial<Call> = {}): Promise<string> => {
    const data = callOf(newId(), status, more);
    await consumer.holds('call', data);
    return data.id;
  };
  const ask = (method: string, id: string, what: string, body?: Json): Promise<Answer> =>
    api.request(method, `/v1.0/calls/${id}/${what}`, body);

  const orders: [string, string, Json | undefined, string, Json][] = [
    ['POST', 'hold', undefined, 'call.hold', { on: true }],
    ['DELETE', 'hold', undefined, 'call.hold', { on: false }],
    ['POST', 'moh', undefined, 'call.moh', { on: true }],
    ['DELETE', 'moh', undefined, 'call.moh', { on: false }],
    ['POST', 'silence', undefined, 'call.silence', { on: true }],
    ['DELETE', 'silence', undefined, 'call.silence', { on: false }],
    ['POST', 'mute', {}, 'call.mute', { direction: '', on: true }],
    ['POST', 'mute', { direction: 'in' }, 'call.mute', { direction: 'in', on: true }],
    ['DELETE', 'mute', { direction: 'both' }, 'call.mute', { direction: 'both', on: false }],
    ['POST', 'talk', { text: 'Hi' }, 'call.talk', { text: 'Hi', language: '', provider: 'provider_b', voice_id: '' }],
  ];
  for (const [method, what, body, name, sent] of orders)
    it(`${method} ${what} ${JSON.stringify(body ?? '')} is ordered from the owner, and answered 200 without a body`, async () => {
      const id = await live('progressing');
      assert.deepEqual(outcome(await ask(method, id, what, body)), [200, '']);
      const [command] = consumer.taken;
      assert.deepEqual([command?.name, command?.body], [name, { ...sent, call_id: id }]);
    });

  const STATUSES = ['dialing', 'ringing', 'progressing', 'canceling', 'terminating', 'hangup'] as const;
  type Rule = Record<Call['status'], 'ordered' | 'shown' | Reason>;
  const [INVALID, OVER] = ['CALL_STATE_INVALID', 'CALL_ALREADY_HANGUP'] as const;
  const ending = { canceling: INVALID, terminating: INVALID, hangup: OVER };
  const whileUp: Rule = { dialing: INVALID, ringing: INVALID, progressing: 'ordered', ...ending };
  const recorded: Rule = { ...whileUp, hangup: INVALID };
  const hungUp: Rule = {
    ...{ dialing: 'ordered', ringing: 'ordered', progressing: 'ordered' },
    ...{ canceling: 'shown', terminating: 'shown', hangup: OVER },
  };
  /** Whoever stops a recording hears from the node whether there is one. */
  const unrecorded: Rule = {
    ...{ dialing: 'ordered', ringing: 'ordered', progressing: 'ordered', canceling: 'ordered', terminating: 'ordered' },
    hangup: 'RECORDING_NOT_ACTIVE',
  };
  /** voice-and-flows 10 with its state checks: what a request comes to while a call is in each status. */
  const rules: [method: string, what: string, body: Json | undefined, Rule][] = [
    ...(['hold', 'moh', 'silence', 'mute'] as const).flatMap(what =>
      ['POST', 'DELETE'].map((method): [string, string, Json | undefined, Rule] => [
        ...([method, what, what === 'mute' ? {} : undefined] as const),
        whileUp,
      ]),
    ),
    ['POST', 'talk', { text: 'Hi' }, whileUp],
    ['POST', 'recording_start', {}, recorded],
    ['POST', 'recording-start', {}, recorded],
    ['POST', 'recording_stop', undefined, unrecorded],
    ['POST', 'recording-stop', undefined, unrecorded],
    ['POST', 'hangup', undefined, hungUp],
  ];
  for (const [method, what, body, rule] of rules)
    it(`${method} ${what} goes by the status of the call`, async () => {
      for (const status of STATUSES) {
        consumer.taken.length = 0;
        const id = await live(status);
        if (!['hold', 'moh', 'silence', 'mute', 'talk'].includes(what))
          consumer.answer = ({ id: command_id }) => ({ command_id, ok: true, result: callOf(id, status) });
        const answer = await ask(method, id, what, body);
        const expected = rule[status];
        const good = expected === 'ordered' || expected === 'shown';
        assert.equal(answer.status, good ? 200 : 409, `${status}: ${answer.text}`);
        if (!good) assert.equal(outcome(answer)[1], expected, status);
        assert.equal(consumer.taken.length, expected === 'ordered' ? 1 : 0, `${status}: ordered`);
      }
    });

  it('DELETE hangs up what is still up, and then the call is gone', async () => {
    for (const status of STATUSES) {
      consumer.taken.length = 0;
      const id = await live(status);
      consumer.answer = ({ id: command_id }) => ({ command_id, ok: true, result: callOf(id, 'terminating') });
      const answer = await api.request('DELETE', `/v1.0/calls/${id}`);
      assert.equal(answer.status, 200, answer.text);
      assert.notEqual(answer.body['tm_delete'], null);
      const ordered = consumer.taken.map(({ name }) => name);
      assert.deepEqual(ordered, status === 'hangup' ? [] : ['call.hangup'], status);
      assert.deepEqual(outcome(await api.request('GET', `/v1.0/calls/${id}`)), [404, 'CALL_NOT_FOUND']);
    }
  });

  it('talk may answer a call that came in and still rings', async () => {
    const id = await live('ringing', { direction: 'incoming' });
    assert.deepEqual(outcome(await ask('POST', id, 'talk', { text: 'Hi' })), [200, '']);
    assert.deepEqual(outcome(await ask('POST', id, 'hold')), [409, 'CALL_STATE_INVALID']);
  });

  const wrong: [string, Json | undefined, string][] = [
    ['mute', undefined, 'INVALID_JSON_BODY'],
    ['mute', { direction: 'up' }, 'INVALID_ARGUMENT'],
    ['mute', { direction: 1 }, 'INVALID_JSON_BODY'],
    ['talk', {}, 'INVALID_ARGUMENT'],
    ['talk', { text: ' ' }, 'INVALID_ARGUMENT'],
    ['talk', { text: 'x'.repeat(10_001) }, 'INVALID_ARGUMENT'],
  ];
  for (const [what, body, reason] of wrong)
    it(`${what} ${JSON.stringify(body ?? '').slice(0, 30)} is ${reason}`, async () => {
      assert.deepEqual(outcome(await ask('POST', await live('progressing'), what, body)), [400, reason]);
    });

  it('another account’s call is not found, nor is one that never was', async () => {
    const id = await live('progressing', { customer_id: newId() });
    for (const each of [id, newId()])
      assert.deepEqual(outcome(await ask('POST', each, 'hold')), [404, 'CALL_NOT_FOUND']);
    assert.equal(consumer.taken.length, 0);
  });
});

import { strict as assert } from 'node:assert';
import { START_ACTION } from '#contract/action';
import { newCall, type Call } from '#contract/call';
import type { LiveRecord } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';
import { startTestApi, type Answer, type TestApi } from '../support/api.ts';
import { Consumer } from '../support/consumer.ts';

type Json = Record<string, unknown>;
const outcome = (answer: Answer): unknown[] => [
  answer.status,
  (answer.body['error'] as Json | undefined)?.['reason'] ?? answer.text,
];

describe('what is asked of a live call', () => {
  const NODE = 'node-of-the-test';
  let api: TestApi;
  let consumer: Consumer;
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi();
    consumer = new Consumer(api.redisUrl, NODE);
  });
  after(async () => {
    await consumer.close();
    await api.stop();
  });
  beforeEach(() => {
    consumer.taken.length = 0;
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: {} });
  });

  const live = async (status: Call['status'], more: Partial<Call> = {}): Promise<string> => {
    const address = { type: 'sip', target: 'sip:a@b', target_name: '', name: '', detail: '' } as const;
    const data = newCall({
      id: newId(),
      customer_id: api.welcome.customer_id,
      direction: 'outgoing',
      status,
      source: address,
      destination: address,
      action: START_ACTION,
      tm_create: timestamp(),
      ...more,
    });
    const final = status === 'hangup';
    const record: LiveRecord<'call'> = { kind: 'call', version: 1, owner: NODE, final, data, internal: {} };
    await consumer.redis.set(keys.live('call', data.id), JSON.stringify(record));
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

  const BODIES: Record<string, Json | undefined> = { hold: undefined, moh: undefined, silence: undefined, mute: {} };
  const refused: [Call['status'], string][] = [
    ['dialing', 'CALL_STATE_INVALID'],
    ['ringing', 'CALL_STATE_INVALID'],
    ['canceling', 'CALL_STATE_INVALID'],
    ['terminating', 'CALL_STATE_INVALID'],
    ['hangup', 'CALL_ALREADY_HANGUP'],
  ];
  for (const [status, reason] of refused)
    it(`while a call is ${status} all of them are ${reason}, and nobody is asked`, async () => {
      const id = await live(status);
      for (const [what, body] of Object.entries({ ...BODIES, talk: { text: 'Hi' } }))
        assert.deepEqual(outcome(await ask('POST', id, what, body)), [409, reason], what);
      for (const [what, body] of Object.entries(BODIES))
        assert.deepEqual(outcome(await ask('DELETE', id, what, body)), [409, reason], what);
      assert.equal(consumer.taken.length, 0);
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

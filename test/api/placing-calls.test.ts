import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Command } from '#contract/commands';
import { newId } from '#contract/ids';
import { reasonOf, type Answer, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';
import { aCall } from './events-rig.ts';

type Json = Record<string, unknown>;

describe('placing calls', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));
  beforeEach(() => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: { calls: [], groupcalls: [] } });
  });

  const source = { type: 'tel', target: '+1 (555) 010-0000' };
  const destinations = [{ type: 'extension', target: '1001', target_name: '1001' }];
  const place = (body: Json): Promise<Answer> => api.request('POST', '/v1.0/calls', { source, destinations, ...body });

  const callOf = (status: Call['status']): Call => aCall(api.welcome.customer_id, { status });
  const live = async (data: Call): Promise<Call> => {
    await consumer.holds('call', data);
    return data;
  };

  it('inline actions become a temporary flow that is readable by id and in no list', async () => {
    const answer = await place({ actions: [{ type: 'talk', option: { text: 'Hello' } }] });
    assert.deepEqual([answer.status, answer.body], [200, { calls: [], groupcalls: [] }]);
    const order = consumer.taken[0]?.body as Json;
    const flow = order['flow'] as Json;
    assert.equal((order['source'] as Json)['target'], '+15550100000');
    const read = await api.request('GET', `/v1.0/flows/${String(flow['id'])}`);
    assert.deepEqual(read.body['actions'], flow['actions']);
    const list = await api.request('GET', '/v1.0/flows');
    assert.deepEqual(
      (list.body['result'] as Json[]).map(each => each['id']),
      [api.welcome.flow_id],
    );
    assert.equal(reasonOf(await api.request('DELETE', `/v1.0/flows/${String(flow['id'])}`)), 'FLOW_NOT_FOUND');
  });

  for (const [reason, left] of [
    ['STATE_INVALID', 0],
    ['SERVICE_UNAVAILABLE', 0],
    ['REQUEST_TIMEOUT', 1],
  ] as const)
    it(`a call refused with ${reason} leaves ${left === 0 ? 'no flow of its actions' : 'the flow it may yet run'}`, async () => {
      const count = (): Promise<{ id: string }[]> => api.database.db('flows').where({ persistent: false });
      const before = await count();
      consumer.answer = ({ id }) => ({ command_id: id, ok: false, reason, message: 'no' });
      assert.equal(reasonOf(await place({ actions: [{ type: 'answer' }] })), reason);
      assert.equal((await count()).length - before.length, left);
    });

  it('a flow_id wins over actions, and the request id travels along', async () => {
    const body = { source, destinations, flow_id: api.welcome.flow_id, actions: [{ type: 'hangup' }] };
    await api.request('POST', '/v1.0/calls', body, { headers: { 'X-Request-Id': 'abc' } });
    const [command] = consumer.taken;
    assert.equal(command?.request_id, 'abc');
    assert.equal(((command?.body as Json)['flow'] as Json)['id'], api.welcome.flow_id);
  });

  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, 'v']));
  const refused: [string, Json, number, string][] = [
    ['no source', { source: undefined }, 400, 'INVALID_ARGUMENT'],
    ['no destinations', { destinations: undefined }, 400, 'INVALID_ARGUMENT'],
    ['empty destinations', { destinations: [] }, 400, 'INVALID_ARGUMENT'],
    ['a destination without target', { destinations: [{ type: 'sip', target: ' ' }] }, 400, 'INVALID_ARGUMENT'],
    ['a destination of an unknown type', { destinations: [{ type: 'fax', target: '1' }] }, 400, 'INVALID_ARGUMENT'],
    ['an unknown flow', { flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
    ['a flow id that is no UUID', { flow_id: 'x' }, 400, 'INVALID_ARGUMENT'],
    ['an unknown action', { actions: [{ type: 'dance' }] }, 400, 'INVALID_ACTION_TYPE'],
    ['anonymous maybe', { anonymous: 'maybe' }, 400, 'INVALID_ARGUMENT'],
    ['variables that are numbers', { variables: { a: 5 } }, 400, 'INVALID_JSON_BODY'],
    ['101 variables', { variables: many }, 400, 'INVALID_VARIABLES'],
    ['a variable over 32 KB', { variables: { a: 'x'.repeat(32_769) } }, 400, 'INVALID_VARIABLES'],
    [
      'a telephone number without a verified identity',
      { destinations: [{ type: 'tel', target: '+4930123456' }] },
      403,
      'IDENTITY_VERIFICATION_REQUIRED',
    ],
  ];
  for (const [name, body, status, reason] of refused)
    it(`${name} is ${reason}, and nobody is rung`, async () => {
      const answer = await place(body);
      assert.deepEqual([answer.status, reasonOf(answer)], [status, reason], answer.text);
      assert.equal(consumer.taken.length, 0);
    });

  it('a virtual number needs no verified identity', async () => {
    const answer = await place({ destinations: [{ type: 'tel', target: api.welcome.number }] });
    assert.equal(answer.status, 200);
  });

  it('an account that is not yet active may not dial out', async () => {
    await api.database.db('customers').update({ status: 'initial' });
    const answer = await place({});
    await api.database.db('customers').update({ status: 'active' });
    assert.deepEqual([answer.status, reasonOf(answer)], [403, 'PERMISSION_DENIED']);
  });

  it('what media-app refuses comes back with its reason', async () => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: false, reason: 'INVALID_ARGUMENT', message: 'Nobody there.' });
    const answer = await place({});
    assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_ARGUMENT']);
  });

  describe('a call that is up', () => {
    it('is read from where it lives', async () => {
      const call = await live(callOf('progressing'));
      const answer = await api.request('GET', `/v1.0/calls/${call.id}`);
      assert.deepEqual(answer.body, { ...call });
    });

    it('is hung up by the node that owns it', async () => {
      const call = await live(callOf('progressing'));
      consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: { ...call, status: 'terminating' } });
      const answer = await api.request('POST', `/v1.0/calls/${call.id}/hangup`);
      assert.deepEqual([answer.status, answer.body['status']], [200, 'terminating']);
      assert.equal(consumer.taken[0]?.name, 'call.hangup');
    });

    it('is left alone while it is ending already', async () => {
      const call = await live(callOf('canceling'));
      const answer = await api.request('POST', `/v1.0/calls/${call.id}/hangup`);
      assert.deepEqual([answer.status, answer.body['status'], consumer.taken.length], [200, 'canceling', 0]);
    });

    it('that is over cannot be hung up again', async () => {
      const call = await live(callOf('hangup'));
      const answer = await api.request('POST', `/v1.0/calls/${call.id}/hangup`);
      assert.deepEqual([answer.status, reasonOf(answer)], [409, 'CALL_ALREADY_HANGUP']);
    });

    it('is gone once deleted', async () => {
      const call = await live(callOf('hangup'));
      const deleted = await api.request('DELETE', `/v1.0/calls/${call.id}`);
      assert.equal(deleted.status, 200);
      assert.notEqual(deleted.body['tm_delete'], null);
      assert.equal(reasonOf(await api.request('GET', `/v1.0/calls/${call.id}`)), 'CALL_NOT_FOUND');
      assert.equal(reasonOf(await api.request('DELETE', `/v1.0/calls/${call.id}`)), 'CALL_NOT_FOUND');
    });

    it('of another account is not found', async () => {
      const call = await live({ ...callOf('progressing'), customer_id: newId() });
      assert.equal(reasonOf(await api.request('GET', `/v1.0/calls/${call.id}`)), 'CALL_NOT_FOUND');
    });
  });

  describe('activeflows', () => {
    it('need a flow or actions', async () => {
      const answer = await api.request('POST', '/v1.0/activeflows', {});
      assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_ARGUMENT']);
    });

    it('take a webhook of their own, if it is one', async () => {
      const ask = (more: Json) => api.request('POST', '/v1.0/activeflows', { flow_id: api.welcome.flow_id, ...more });
      assert.equal(reasonOf(await ask({ webhook_uri: 'nowhere' })), 'INVALID_WEBHOOK_URI');
      assert.equal(reasonOf(await ask({ webhook_method: 'GRAB' })), 'INVALID_WEBHOOK_METHOD');
    });
  });

  it('deleting an extension tells the registrar to forget its phones', async () => {
    const made = await api.request('POST', '/v1.0/extensions', { extension: '3001', password: 'p' });
    const forgotten = new Promise<Command>(resolve => {
      consumer.answer = command => {
        resolve(command);
        return undefined;
      };
    });
    await api.request('DELETE', `/v1.0/extensions/${String(made.body['id'])}`);
    const command = await forgotten;
    assert.deepEqual([command.name, command.body], ['extension.unregister', { extension_id: made.body['id'] }]);
  });
});

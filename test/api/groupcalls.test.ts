import { strict as assert } from 'node:assert';
import type { Groupcall } from '#contract/groupcall';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import { reasonOf, type Answer, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';

type Json = Record<string, unknown>;

describe('groupcalls over HTTP', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));
  beforeEach(() => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: groupcall() });
  });

  const source = { type: 'tel', target: '+15550100000' };
  const destinations = [{ type: 'extension', target: '1001', target_name: '1001' }];
  const place = (body: Json): Promise<Answer> =>
    api.request('POST', '/v1.0/groupcalls', { source, destinations, flow_id: api.welcome.flow_id, ...body });

  const groupcall = (more: Partial<Groupcall> = {}): Groupcall => ({
    id: newId(),
    customer_id: api.welcome.customer_id,
    owner_type: '',
    owner_id: EMPTY_ID,
    status: 'progressing',
    flow_id: EMPTY_ID,
    source: { type: 'tel', target: '+15550100000', target_name: '', name: '', detail: '' },
    destinations: [],
    master_call_id: EMPTY_ID,
    master_groupcall_id: EMPTY_ID,
    ring_method: 'ring_all',
    answer_method: 'hangup_others',
    answer_call_id: EMPTY_ID,
    call_ids: [],
    answer_groupcall_id: EMPTY_ID,
    groupcall_ids: [],
    call_count: 1,
    groupcall_count: 0,
    dial_index: 0,
    tm_create: timestamp(),
    tm_update: NEVER,
    tm_delete: NEVER,
    ...more,
  });
  const live = async (more: Partial<Groupcall>): Promise<string> => {
    const data = groupcall(more);
    await consumer.holds('groupcall', data);
    return data.id;
  };

  const methods: [string, Json, string, string][] = [
    ['nothing said', {}, 'ring_all', 'hangup_others'],
    ['an empty ring method', { ring_method: '' }, 'ring_all', 'hangup_others'],
    ['linear without hangup_others', { ring_method: 'linear', answer_method: '' }, 'linear', ''],
  ];
  for (const [title, body, ring_method, answer_method] of methods)
    it(`${title}: ${ring_method}, ${answer_method || 'nobody is hung up'}`, async () => {
      const answer = await place({ ...body, variables: { name: 'Ann' } });
      assert.equal(answer.status, 200, answer.text);
      const order = consumer.taken[0]?.body as Json;
      assert.deepEqual([order['ring_method'], order['answer_method']], [ring_method, answer_method]);
      assert.deepEqual(order['variables'], { name: 'Ann' });
    });

  const refused: [string, Json, number, string][] = [
    ['no source', { source: undefined }, 400, 'INVALID_ARGUMENT'],
    ['no destinations', { destinations: undefined }, 400, 'INVALID_ARGUMENT'],
    ['empty destinations', { destinations: [] }, 400, 'INVALID_ARGUMENT'],
    ['an unknown ring method', { ring_method: 'random' }, 400, 'INVALID_ARGUMENT'],
    ['an unknown answer method', { answer_method: 'applaud' }, 400, 'INVALID_ARGUMENT'],
    ['an unknown flow', { flow_id: newId() }, 404, 'FLOW_NOT_FOUND'],
    ['an unknown action', { flow_id: '', actions: [{ type: 'dance' }] }, 400, 'INVALID_ACTION_TYPE'],
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

  it('one that rings is hung up by its owner', async () => {
    const id = await live({});
    consumer.answer = ({ id: command }) => ({
      command_id: command,
      ok: true,
      result: groupcall({ id, status: 'hangingup' }),
    });
    const answer = await api.request('POST', `/v1.0/groupcalls/${id}/hangup`);
    assert.deepEqual([answer.status, answer.body['status']], [200, 'hangingup']);
    assert.deepEqual(consumer.taken[0]?.body, { groupcall_id: id });
  });

  for (const status of ['hangingup', 'hangup'] as const)
    it(`one that is ${status} already is left alone`, async () => {
      const answer = await api.request('POST', `/v1.0/groupcalls/${await live({ status })}/hangup`);
      assert.deepEqual([answer.status, answer.body['status'], consumer.taken.length], [200, status, 0]);
    });

  const asked = [
    ['GET', ''],
    ['POST', '/hangup'],
    ['DELETE', ''],
  ] as const;

  it('is gone once deleted', async () => {
    const id = await live({ status: 'hangup' });
    assert.equal((await api.request('DELETE', `/v1.0/groupcalls/${id}`)).status, 200);
    for (const [method, path] of asked)
      assert.equal(reasonOf(await api.request(method, `/v1.0/groupcalls/${id}${path}`)), 'GROUPCALL_NOT_FOUND');
  });

  it('of another account is not found', async () => {
    const id = await live({ customer_id: newId() });
    for (const [method, path] of asked)
      assert.equal(reasonOf(await api.request(method, `/v1.0/groupcalls/${id}${path}`)), 'GROUPCALL_NOT_FOUND');
    assert.equal(consumer.taken.length, 0);
  });
});

import { strict as assert } from 'node:assert';
import type { Command } from '#contract/commands';
import { newId } from '#contract/ids';
import { keys, OBEYED_TTL_S } from '#contract/keys';
import { removeOldKeys } from '../../control-api/http/idempotency.ts';
import { reasonOf, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { withConsumer, type Consumer } from '../support/consumer.ts';
import { eventually } from './events-rig.ts';

type Json = Record<string, unknown>;
const isReplay = (answer: Answer): boolean => answer.headers.get('idempotent-replayed') === 'true';

describe('requests with an Idempotency-Key', () => {
  let api: TestApi;
  let consumer: Consumer;
  withConsumer((...opened) => ([api, consumer] = opened));
  beforeEach(() => {
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: { calls: [], groupcalls: [] } });
  });

  const post = (key: string, path: string, body: unknown, options: ApiRequest = {}): Promise<Answer> =>
    api.request('POST', `/v1.0${path}`, body, {
      ...options,
      headers: { 'Idempotency-Key': key, ...options.headers },
    });
  const call = () => ({
    source: { type: 'tel', target: '+15550100000' },
    destinations: [{ type: 'extension', target: '1001', target_name: '1001' }],
    flow_id: api.welcome.flow_id,
  });
  const flowsNamed = async (name: string): Promise<number> => (await api.database.db('flows').where({ name })).length;
  /** What a process that died leaves behind: nobody holds the key any more. */
  const abandon = () => api.database.db.raw("update idempotency_keys set leased_until = now() - interval '1 second'");
  const makeOld = () =>
    api.database.db.raw("update idempotency_keys set tm_create = now() - interval '1 day 1 second'");

  it('make one record, and get the same answer every time', async () => {
    const [key, name] = [newId(), newId()];
    const first = await post(key, '/flows', { name });
    const again = await post(key, '/flows', { name });
    assert.deepEqual([first.status, again.status], [200, 200]);
    assert.equal(again.text, first.text);
    assert.deepEqual([isReplay(first), isReplay(again)], [false, true]);
    assert.equal(await flowsNamed(name), 1);
    assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  });

  it('dial once, however many come at the same time', async () => {
    const key = newId();
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(key, '/calls', call())));
    assert.deepEqual(
      answers.map(answer => answer.status),
      Array(8).fill(200),
    );
    assert.equal(answers.filter(isReplay).length, 7);
    assert.equal(consumer.taken.length, 1);
  });

  it('are refused with another body, another query or by another agent', async () => {
    const key = newId();
    await post(key, '/flows', { name: 'A' });
    for (const answer of [
      await post(key, '/flows', { name: 'B' }),
      await post(key, '/flows?colour=red', { name: 'A' }),
      await post(key, '/flows', undefined, { raw: '{ "name": "A" }' }),
    ])
      assert.deepEqual([answer.status, reasonOf(answer)], [409, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it('are others on another path and of another customer', async () => {
    const [key, name] = [newId(), newId()];
    await post(key, '/flows', { name });
    const elsewhere = await post(key, '/extensions', { extension: '4001', password: 'p' });
    assert.equal(elsewhere.status, 200);
    const { db } = api.database;
    await db('idempotency_keys').where('path', '/v1.0/flows').update({ customer_id: newId() });
    const own = await post(key, '/flows', { name });
    assert.equal(isReplay(own), false);
    assert.equal(await flowsNamed(name), 2);
  });

  it('get the same refusal again, under the id of the new request', async () => {
    const key = newId();
    const missing = { name: 'x', on_complete_flow_id: newId() };
    const first = await post(key, '/flows', missing);
    const again = await post(key, '/flows', missing);
    assert.deepEqual([reasonOf(first), reasonOf(again)], ['FLOW_NOT_FOUND', 'FLOW_NOT_FOUND']);
    assert.equal((again.body['error'] as Json)['request_id'], again.headers.get('x-request-id'));
  });

  it('may be mended and sent again when they were malformed', async () => {
    const key = newId();
    assert.equal((await post(key, '/flows', { name: 5 })).status, 400);
    assert.equal((await post(key, '/flows', { name: 'five' })).status, 200);
  });

  it('are tried again after a failure that was ours, as the same command', async () => {
    const key = newId();
    consumer.answer = ({ id }) => ({ command_id: id, ok: false, reason: 'SERVICE_UNAVAILABLE', message: 'Not now.' });
    assert.equal((await post(key, '/calls', call())).status, 503);
    consumer.answer = ({ id }) => ({ command_id: id, ok: true, result: { calls: [], groupcalls: [] } });
    const again = await post(key, '/calls', call());
    assert.deepEqual([again.status, isReplay(again)], [200, false]);
    const ids = consumer.taken.map(command => command.id);
    assert.deepEqual([ids.length, new Set(ids).size, consumer.taken[0]?.once], [2, 1, true]);
  });

  it('get the answer of a command that was obeyed, though its control-api died before it could say so', async () => {
    const key = newId();
    let obeyed: Command | undefined;
    consumer.answer = command => {
      obeyed = command;
      return undefined;
    };
    const lost = post(key, '/calls', call());
    await eventually('it is taken', () => obeyed !== undefined);
    const id = obeyed?.id ?? '';
    const reply = { command_id: id, ok: true, result: { calls: [], groupcalls: [] } };
    await consumer.redis.set(keys.obeyed(id), JSON.stringify(reply), 'EX', OBEYED_TTL_S);
    await abandon();
    const again = await post(key, '/calls', call());
    assert.deepEqual([again.status, again.body], [200, { calls: [], groupcalls: [] }]);
    assert.equal(consumer.taken.length, 1);
    await lost;
  });

  it('make one row, though the first try died after the row and before the answer', async () => {
    const [key, name] = [newId(), newId()];
    await post(key, '/flows', { name });
    await api.database.db('idempotency_keys').update({ status: null, answer: null });
    await abandon();
    const again = await post(key, '/flows', { name });
    assert.deepEqual([again.status, reasonOf(again)], [409, 'ALREADY_EXISTS']);
    assert.equal(await flowsNamed(name), 1);
  });

  it('are new requests after a day', async () => {
    const [key, name] = [newId(), newId()];
    await post(key, '/flows', { name });
    await makeOld();
    const next = await post(key, '/flows', { name });
    assert.deepEqual([next.status, isReplay(next)], [200, false]);
    assert.equal(await flowsNamed(name), 2);
  });

  it('leave nothing behind after their day', async () => {
    await post(newId(), '/flows', { name: 'old' });
    await makeOld();
    const { db } = api.database;
    const before = (await db('idempotency_keys')).length;
    await post('fresh', '/flows', { name: 'new' });
    assert.equal(await removeOldKeys(db), before);
    assert.equal((await db('idempotency_keys')).length, 1);
  });

  it('keep no secret and no key readable at rest', async () => {
    const key = newId();
    const made = await post(key, '/accesskeys', { name: 'k' });
    const token = String(made.body['token']);
    assert.match(token, /^tk_/);
    const [row] = (await api.database.db('idempotency_keys').where('path', '/v1.0/accesskeys')) as Json[];
    const stored = Object.values(row ?? {}).map(value => (Buffer.isBuffer(value) ? value.toString('latin1') : value));
    assert.doesNotMatch(JSON.stringify(stored), new RegExp(`${token}|${key}`));
    assert.equal((await post(key, '/accesskeys', { name: 'k' })).body['token'], token);
  });

  for (const [what, key] of [
    ['is empty', ''],
    ['holds a space', 'a b'],
    ['is longer than 255', 'k'.repeat(256)],
    ['is not ASCII', 'schl\u00fcssel'],
  ])
    it(`are refused when the key ${what}`, async () => {
      const answer = await post(String(key), '/flows', { name: 'x' });
      assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_ARGUMENT']);
    });

  it('are not the business of other methods', async () => {
    const flow = await post(newId(), '/flows', { name: 'put' });
    const path = `/v1.0/flows/${String(flow.body['id'])}`;
    const headers = { 'Idempotency-Key': 'one' };
    for (const name of ['a', 'b'])
      assert.equal((await api.request('PUT', path, { name }, { headers })).body['name'], name);
  });
});

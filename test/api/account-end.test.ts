import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import type { LiveResources } from '#contract/events';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import { newDirectHash } from '../../control-api/auth/secrets.ts';
import { endLeftovers } from '../../control-api/jobs/accounts.ts';
import { apiOfTests } from '../support/api.ts';
import { Consumer } from '../support/consumer.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';
import { aCall, eventually } from './events-rig.ts';

type Json = Record<string, unknown>;

const words = { name: 'x', detail: '' };
const QUEUE = { wait_flow_id: EMPTY_ID, wait_timeout: 0, service_timeout: 0 };

describe('what ends with an account (9.4)', function () {
  this.timeout(30_000);
  const api = apiOfTests();
  let consumer: Consumer;
  let operator: { token: string };
  before(async () => {
    consumer = new Consumer(api.redisUrl);
    const agent = await addAgent(api, api.welcome.customer_id, 1);
    operator = { token: await tokenOf(api, agent.username, agent.password) };
  });
  after(() => consumer.close());

  /** Something of a customer that is up: its row, and its live record on a node. */
  const up = async <K extends 'call' | 'conference'>(kind: K, data: LiveResources[K]): Promise<string> => {
    const { id, customer_id } = data;
    const row = { id, customer_id, version: 1, data: JSON.stringify(data), tm_create: timestamp() };
    await api.database.db(`${kind}s`).insert(row);
    await consumer.holds(kind, data);
    return id;
  };
  const callOf = (customer_id: string) => up('call', aCall(customer_id, { status: 'progressing' }));
  const roomOf = (customer_id: string) => {
    const facts = { id: newId(), customer_id, type: 'conference', status: 'progressing', direct_hash: newDirectHash() };
    return up('conference', { ...facts, tm_create: timestamp(), tm_delete: NEVER } as Conference);
  };
  /** The orders that reach media-app about a customer, as `name id`. */
  const ordered = (customerId: string): string[] =>
    consumer.taken
      .filter(({ customer_id }) => customer_id === customerId)
      .map(({ name, body }) => `${name} ${Object.values(body as Json).join()}`)
      .sort();
  const hears = (customerId: string, ...orders: string[]) =>
    eventually(`media-app hears ${orders.join(', ')}`, () => ordered(customerId).length >= orders.length).then(() =>
      assert.deepEqual(ordered(customerId), orders.sort()),
    );
  const as = (id: string, path: string, method = 'POST') =>
    api.request(method, `/v1.0/customers/${id}${path}`, undefined, { credentials: operator });

  it('frozen: its calls are hung up; rooms, phones and all else stay', async () => {
    const id = await addCustomer(api);
    const [call] = [await callOf(id), await roomOf(id)];
    assert.equal((await as(id, '/freeze')).status, 200);
    await hears(id, `call.hangup ${call}`);
  });

  it('deleted: calls end, rooms close, and every phone is forgotten', async () => {
    const id = await addCustomer(api);
    const credentials = { accesskey: await addAccesskey(api, id) };
    const phones = await Promise.all(
      ['1', '2'].map(async extension => {
        const made = await api.request('POST', '/v1.0/extensions', { extension, password: 'p' }, { credentials });
        return String(made.body['id']);
      }),
    );
    const [call, room] = [await callOf(id), await roomOf(id)];
    assert.equal((await as(id, '', 'DELETE')).status, 200);
    const forgotten = phones.map(phone => `extension.unregister ${phone}`);
    await hears(id, `call.hangup ${call}`, `conference.delete ${room}`, ...forgotten);
  });

  const LEFT: [status: string, what: string, make: (id: string) => Promise<string>, order: string | undefined][] = [
    ['deleted', 'a room alone', roomOf, 'conference.delete'],
    ['deleted', 'a call alone', callOf, 'call.hangup'],
    ['frozen', 'a call', callOf, 'call.hangup'],
    ['frozen', 'a room, which may stay', roomOf, undefined],
    ['active', 'a call, which may stay', callOf, undefined],
    ['active', 'a room, which may stay', roomOf, undefined],
  ];
  it('what a crash left up of accounts that may have it no more is ended by the job', async () => {
    const made = await Promise.all(
      LEFT.map(async ([status, , make, order]) => {
        const customer = await addCustomer(api, { status });
        return { customer, order, thing: await make(customer) };
      }),
    );
    await endLeftovers(api.app.context);
    for (const { customer, order, thing } of made.filter(each => each.order))
      await hears(customer, `${order} ${thing}`);
    for (const [at, { customer, order }] of made.entries())
      if (!order) assert.deepEqual(ordered(customer), [], LEFT[at]?.slice(0, 2).join(': '));
  });

  const person = () => ({
    ...{ username: `${newId()}@example.com`, password: 'a password', name: '', detail: '' },
    ...{ permission: 16, ring_method: 'ringall', tag_ids: [], addresses: [] },
  });
  /** What a customer makes, and where it lies. */
  const BELONGINGS: [table: string, path: string, body: () => Json][] = [
    ['accesskeys', '/accesskeys', () => ({ name: 'k' })],
    ['agents', '/agents', person],
    ['flows', '/flows', () => ({ name: 'f', actions: [] })],
    ['queues', '/queues', () => ({ ...words, routing_method: 'random', tag_ids: [], ...QUEUE })],
    ['extensions', '/extensions', () => ({ extension: '7', password: 'p' })],
    ['trunks', '/trunks', () => ({ domain_name: 'old-pbx', auth_types: ['basic'], username: 'u', password: 'p' })],
    ['tags', '/tags', () => words],
    ['contacts', '/contacts', () => ({ addresses: [{ type: 'tel', target: '+4930777001' }] })],
    ['contact_addresses', '/contact_addresses', () => ({ type: 'tel', target: '+4930777002' })],
    ['numbers', '/numbers', () => ({ number: '+899222333444' })],
    ['outdials', '/outdials', () => ({ ...words, campaign_id: EMPTY_ID, data: '' })],
    ['outbound_configs', '/outbound_configs', () => ({})],
  ];
  it('deleted: of everything it had nothing is left that counts, and what was its own alone is free again', async () => {
    const tenant = async () => {
      const id = await addCustomer(api);
      return { id, credentials: { accesskey: await addAccesskey(api, id) } };
    };
    const fill = async ({ credentials }: Awaited<ReturnType<typeof tenant>>) => {
      for (const [table, path, body] of BELONGINGS) {
        const answer = await api.request('POST', `/v1.0${path}`, body(), { credentials });
        assert.ok([200, 201].includes(answer.status), `${table}: ${answer.text}`);
      }
    };
    const [first, second] = [await tenant(), await tenant()];
    await fill(first);
    const { db } = api.database;
    const row = await db('customers').where({ id: first.id }).first<Json>();
    await as(first.id, '', 'DELETE');
    for (const table of [...BELONGINGS.map(([each]) => each), 'billing_accounts'])
      assert.equal(
        await db(table).where({ customer_id: first.id }).whereNull('tm_delete').first('id'),
        undefined,
        table,
      );
    assert.equal(await db('directs').where({ customer_id: first.id }).first('id'), undefined, 'direct hashes');
    const gone = await db('customers').where({ id: first.id }).first<Json>();
    assert.notEqual(gone['email'], row['email']);
    assert.deepEqual([gone['webhook_uri'], gone['phone_number'], gone['address']], ['', '', '']);
    // The same trunk domain and number, by another customer.
    await fill(second);
  });
});

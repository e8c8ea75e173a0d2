import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '#contract/ids';
import { MOST_ATTEMPTS } from '../../control-api/events/deliveries.ts';
import { appendEvents, type NewEvent } from '../../control-api/events/log.ts';
import { onTransaction } from '../../control-api/events/statement.ts';
import { removeOldDeliveries } from '../../control-api/jobs/delivery-expiry.ts';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAccesskey, addCustomer } from '../support/people.ts';
import { eventually } from './events-rig.ts';

type Json = Record<string, unknown>;
const resultOf = (answer: Answer): Json[] => answer.body['result'] as Json[];
const NEVER = '9999-01-01 00:00:00.000000';

describe('webhook deliveries', function () {
  this.timeout(20_000);
  const api = apiOfTests();
  let receiver: Server;
  let base: string;
  /** What the receiver answers on a path; 200 when nothing is said. */
  const answers = new Map<string, number>();
  const received: { path: string; event_id: string; sequence: number }[] = [];

  before(async () => {
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', chunk => (body += String(chunk)));
      request.on('end', () => {
        const { id, sequence } = JSON.parse(body) as { id: string; sequence: number };
        received.push({ path: request.url ?? '', event_id: id, sequence });
        response.writeHead(answers.get(request.url ?? '') ?? 200).end();
      });
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  });
  after(async () => {
    receiver.closeAllConnections();
    receiver.close();
  });

  /** A customer of its own whose webhook is a path of the receiver. */
  const account = async (path: string, status = 200) => {
    answers.set(path, status);
    const customer_id = await addCustomer(api, { webhook_uri: base + path, webhook_method: 'POST' });
    const credentials = { accesskey: await addAccesskey(api, customer_id) };
    const ask = (method: string, what = ''): Promise<Answer> =>
      api.request(method, `/v1.0/webhook_deliveries${what}`, undefined, { credentials });
    const happen = async (resource_id = newId(), count = 1, given: Partial<NewEvent> = {}): Promise<void> => {
      const event = {
        customer_id,
        event_type: 'flow_updated' as const,
        resource: 'flow',
        resource_id,
        request_id: 'r',
      };
      const events = Array.from({ length: count }, () => ({ ...event, data: { id: resource_id }, ...given }));
      const { db } = api.database;
      await db.transaction(trx => appendEvents(onTransaction(trx), events));
    };
    const inState = async (state: string, count = 1): Promise<Json[]> => {
      await eventually(`${count} ${state}`, async () => resultOf(await ask('GET', `?state=${state}`)).length === count);
      return resultOf(await ask('GET', `?state=${state}`));
    };
    return { customer_id, ask, happen, inState };
  };

  it('are listed with what became of them, and got with the event and every attempt', async () => {
    const { ask, happen, inState, customer_id } = await account('/listed', 404);
    await happen();
    const [listed] = await inState('dead');
    const { tm_create, tm_update, id, event_id, topic, ...rest } = listed ?? {};
    assert.deepEqual(rest, {
      customer_id,
      event_type: 'flow_updated',
      sequence: 1,
      target: 'customer',
      uri: `${base}/listed`,
      method: 'POST',
      state: 'dead',
      attempts: 1,
      last_status: 404,
      last_error: null,
      tm_next_attempt: NEVER,
    });
    assert.ok(String(tm_update) > String(tm_create));
    const whole = (await ask('GET', `/${String(id)}`)).body;
    assert.deepEqual([(whole['event'] as Json)['id'], (whole['event'] as Json)['topic']], [event_id, topic]);
    const [attempt] = whole['attempt_log'] as Json[];
    const { duration_ms, tm_create: over, ...logged } = attempt ?? {};
    assert.deepEqual(logged, { attempt: 1, uri: `${base}/listed`, status: 404, error: null });
    assert.ok(Number.isInteger(duration_ms) && String(over) > String(tm_create));
  });

  it('of five hundred events of one moment none is missing from the pages, and none comes twice', async () => {
    const { ask, happen } = await account('/pages');
    await Promise.all([happen(newId(), 250), happen(newId(), 250)]);
    const seen: unknown[] = [];
    for (let token = '', n = 0; n < 10; n++) {
      const { body } = await ask('GET', `?page_size=70&page_token=${encodeURIComponent(token)}`);
      seen.push(...(body['result'] as Json[]).map(each => each['sequence']));
      token = String(body['next_page_token']);
      if (token === '') break;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 500 }, (_, n) => 500 - n),
    );
  });

  it('are narrowed by state, event, type, resource and target', async () => {
    const { ask, happen, inState } = await account('/narrowed');
    const resource = newId();
    await happen(resource);
    await happen(newId(), 1, { event_type: 'flow_created' });
    const [, first] = await inState('delivered', 2);
    const sequencesOf = async (query: string): Promise<unknown[]> =>
      resultOf(await ask('GET', `?${query}`)).map(each => each['sequence']);
    for (const [query, sequences] of [
      ['state=delivered', [2, 1]],
      ['state=dead', []],
      ['target=customer', [2, 1]],
      ['target=activeflow', []],
      [`event_id=${String(first?.['event_id'])}`, [1]],
      ['event_type=flow_created', [2]],
      [`resource_id=${resource}`, [1]],
      [`resource_id=${resource}&event_type=flow_created`, []],
    ] as const)
      assert.deepEqual(await sequencesOf(query), sequences, query);
    for (const query of ['state=lost', 'target=me', 'event_id=17', 'event_type=a%00b'])
      assert.equal(reasonOf(await ask('GET', `?${query}`)), 'INVALID_REQUEST_PARAMETER', query);
  });

  it('of another customer are not found, and not sent again', async () => {
    const { happen, inState } = await account('/own', 404);
    const { ask: stranger } = await account('/strange');
    await happen();
    const [{ id } = {}] = await inState('dead');
    for (const [method, path] of [
      ['GET', `/${String(id)}`],
      ['POST', `/${String(id)}/retry`],
    ] as const)
      assert.equal(reasonOf(await stranger(method, path)), 'WEBHOOK_DELIVERY_NOT_FOUND');
    assert.deepEqual(resultOf(await stranger('GET')), []);
    assert.equal(received.filter(({ path }) => path === '/own').length, 1);
  });

  it('that are dead go out again under the same event id, to where the webhook points now', async () => {
    const { ask, happen, inState, customer_id } = await account('/gone', 410);
    await happen();
    const [{ id, event_id } = {}] = await inState('dead');
    await api.database
      .db('customers')
      .where('id', customer_id)
      .update({ webhook_uri: `${base}/found` });
    const answer = await ask('POST', `/${String(id)}/retry`);
    assert.equal(answer.status, 200);
    await inState('delivered');
    const whole = (await ask('GET', `/${String(id)}`)).body;
    assert.deepEqual([whole['attempts'], whole['uri']], [2, `${base}/found`]);
    assert.deepEqual(
      (whole['attempt_log'] as Json[]).map(each => [each['uri'], each['status']]),
      [
        [`${base}/gone`, 410],
        [`${base}/found`, 200],
      ],
    );
    const paths = received.filter(each => each.event_id === event_id).map(({ path }) => path);
    assert.deepEqual(paths, ['/gone', '/found']);
  });

  it('that were delivered can be sent once more', async () => {
    const { ask, happen, inState } = await account('/again');
    await happen();
    const [{ id } = {}] = await inState('delivered');
    await ask('POST', `/${String(id)}/retry`);
    await eventually('the second', () => received.filter(({ path }) => path === '/again').length === 2);
  });

  it('that wait for their next attempt go out now, and those behind them follow in order', async () => {
    const { ask, happen, inState, customer_id } = await account('/later', 503);
    await happen(newId(), 3);
    await eventually('one failed attempt', async () => Number((await inState('pending'))[0]?.['attempts']) === 1);
    const [{ id } = {}] = await inState('pending');
    const hour = api.database.db.raw("now() + interval '1 hour'");
    const { db } = api.database;
    await eventually('it is planned', async () => {
      await db('webhook_deliveries').where({ customer_id, state: 'pending' }).update({ tm_next_attempt: hour });
      return ((await ask('GET', `/${String(id)}`)).body['attempt_log'] as Json[]).length > 0;
    });
    const [{ id: behind } = {}] = await inState('waiting', 2);
    const refused = await ask('POST', `/${String(behind)}/retry`);
    assert.deepEqual([refused.status, reasonOf(refused)], [409, 'STATE_INVALID']);
    answers.set('/later', 200);
    await ask('POST', `/${String(id)}/retry`);
    await inState('delivered', 3);
    const told = received.filter(({ path }) => path === '/later').map(({ sequence }) => sequence);
    assert.deepEqual([...new Set(told)], [1, 2, 3]);
    assert.deepEqual(
      told,
      [...told].sort((a, b) => a - b),
    );
  });

  it('are not sent again when the customer has no webhook any more', async () => {
    const { ask, happen, inState, customer_id } = await account('/none', 404);
    await happen();
    const [{ id } = {}] = await inState('dead');
    await api.database.db('customers').where('id', customer_id).update({ webhook_uri: '' });
    const refused = await ask('POST', `/${String(id)}/retry`);
    assert.deepEqual([refused.status, reasonOf(refused)], [409, 'STATE_INVALID']);
    assert.equal((await inState('dead')).length, 1);
  });

  it('begin their back-off and their three days anew when they are sent again', async () => {
    const { ask, happen, inState, customer_id } = await account('/anew', 404);
    await happen();
    const [{ id } = {}] = await inState('dead');
    const { db } = api.database;
    const long = { attempts: 80, tm_first_attempt: db.raw("now() - interval '4 days'") };
    await db('webhook_deliveries').where({ customer_id }).update(long);
    answers.set('/anew', 500);
    await ask('POST', `/${String(id)}/retry`);
    await eventually('two more attempts', async () => Number((await inState('pending'))[0]?.['attempts']) >= 82);
  });

  it(`keep their last ${MOST_ATTEMPTS} attempts`, async () => {
    const { ask, happen, inState } = await account('/many', 404);
    await happen();
    const [{ id } = {}] = await inState('dead');
    const { db } = api.database;
    const old = Array.from({ length: 120 }, (_, n) => ({ delivery_id: id, attempt: n + 2, uri: '', duration_ms: 1 }));
    await db('webhook_attempts').insert(old);
    await db('webhook_deliveries').where({ id }).update({ attempts: 121 });
    await ask('POST', `/${String(id)}/retry`);
    await eventually('the next attempt', async () => Number((await inState('dead'))[0]?.['attempts']) === 122);
    const log = (await ask('GET', `/${String(id)}`)).body['attempt_log'] as Json[];
    assert.deepEqual([log.length, log[0]?.['attempt'], log.at(-1)?.['attempt']], [MOST_ATTEMPTS, 23, 122]);
  });

  it('that arrived a month ago are forgotten with their attempts; what was given up, and the events, stay', async () => {
    const { db } = api.database;
    const arrived = await account('/arrived');
    await arrived.happen(newId(), 3);
    await arrived.inState('delivered', 3);
    const given = await account('/given-up', 404);
    await given.happen();
    const [dead = {}] = await given.inState('dead');
    const [young = {}, ...old] = await arrived.inState('delivered', 3);
    const ids = [...old, dead].map(({ id }) => String(id));
    await db('webhook_deliveries')
      .whereIn('id', ids)
      .update({ tm_create: db.raw("now() - interval '31 days'") });
    assert.equal(await removeOldDeliveries(db), 2);
    assert.deepEqual(
      resultOf(await arrived.ask('GET')).map(({ id }) => id),
      [young['id']],
    );
    assert.equal(resultOf(await given.ask('GET')).length, 1);
    const { customer_id } = arrived;
    assert.equal((await db('events').where({ customer_id })).length, 3);
    assert.equal((await db('webhook_attempts').whereIn('delivery_id', ids)).length, 1);
  });
});

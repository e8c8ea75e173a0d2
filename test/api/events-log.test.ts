import { strict as assert } from 'node:assert';
import { SYSTEM_CUSTOMER } from '#contract/billing';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { appendEvent, appendEvents, lastSequences, readEvents, type NewEvent } from '../../control-api/events/log.ts';
import { LogFeed, type Growth } from '../../control-api/events/feed.ts';
import { onTransaction } from '../../control-api/events/statement.ts';
import { eventually } from '../support/eventually.ts';
import { addCustomer, countOf, openRig, type EventRig } from './events-rig.ts';

const flowEvent = (customerId: string, given: Partial<NewEvent> = {}): NewEvent => ({
  customer_id: customerId,
  event_type: 'flow_created',
  resource: 'flow',
  resource_id: newId(),
  data: { name: 'welcome' },
  request_id: 'req_1',
  ...given,
});

describe('the event log', () => {
  let rig: EventRig;
  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
  });
  after(() => rig.close());

  it('shows an event as clients receive it: id, sequence, type, time with microseconds, topic, request and data', async () => {
    const customer = await addCustomer(rig.db);
    const given = flowEvent(customer, { id: newId(), timestamp: '2026-11-21 10:00:00.123456' });
    await rig.db.transaction(trx => appendEvent(trx, given));
    assert.deepEqual(await readEvents(rig.db, customer, 0, 10), [
      {
        id: given.id,
        sequence: 1,
        event_type: 'flow_created',
        timestamp: '2026-11-21T10:00:00.123456Z',
        topic: `customer_id:${customer}:flow:${given.resource_id}`,
        request_id: 'req_1',
        data: { name: 'welcome' },
      },
    ]);
  });

  it('numbers the events of a customer without gaps when forty writers append at once and a third of them fail', async () => {
    const customer = await addCustomer(rig.db);
    const write = (n: number): Promise<void> =>
      rig.db.transaction(async trx => {
        await appendEvent(trx, flowEvent(customer));
        if (n % 3 === 0) throw new Error('rolled back');
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => write(n)));
    const kept = outcomes.filter(outcome => outcome.status === 'fulfilled').length;
    const events = await readEvents(rig.db, customer, 0, 100);
    assert.deepEqual(
      events.map(event => event.sequence),
      Array.from({ length: kept }, (_, n) => n + 1),
    );
    assert.equal((await lastSequences(rig.db, [customer])).get(customer), kept);
  });

  it('keeps the order of events that are appended together and numbers each customer by itself', async () => {
    const [one, two] = [await addCustomer(rig.db), await addCustomer(rig.db)];
    const events = [one, two, one, one, two].map(id => flowEvent(id));
    await rig.db.transaction(trx => appendEvents(onTransaction(trx), events));
    for (const customer of [one, two]) {
      const expected = events.filter(event => event.customer_id === customer).map(event => event.resource_id);
      const read = await readEvents(rig.db, customer, 0, 10);
      assert.deepEqual(
        read.map(event => event.topic.split(':')[3]),
        expected,
      );
    }
  });

  it('gives an event that is already there no second place and no number', async () => {
    const customer = await addCustomer(rig.db);
    const event = flowEvent(customer, { id: newId() });
    await rig.db.transaction(trx => appendEvent(trx, event));
    await rig.db.transaction(trx => appendEvent(trx, event));
    await rig.db.transaction(trx => appendEvent(trx, flowEvent(customer)));
    assert.deepEqual(
      (await readEvents(rig.db, customer, 0, 10)).map(each => each.sequence),
      [1, 2],
    );
  });

  it('queues one webhook delivery for a customer with a webhook and none without', async () => {
    const before = await countOf(rig.db, 'webhook_deliveries');
    const customer = await addCustomer(rig.db, { uri: 'http://127.0.0.1:9/', method: '' });
    await rig.db.transaction(trx => appendEvent(trx, flowEvent(customer)));
    await rig.db.transaction(async trx => appendEvent(trx, flowEvent(await addCustomer(rig.db))));
    assert.equal(await countOf(rig.db, 'webhook_deliveries'), before + 1);
    const delivery = (await rig.db('webhook_deliveries').where('customer_id', customer).first()) as { method: string };
    assert.equal(delivery.method, 'POST');
  });

  it('queues nothing for the system customer, whatever webhook it was given', async () => {
    const before = await countOf(rig.db, 'webhook_deliveries');
    const facts = { webhook_uri: 'http://127.0.0.1:9/', webhook_method: 'POST', webhook_secret: '' };
    const system = { id: SYSTEM_CUSTOMER, status: 'active', sip_label: 'system', tm_create: timestamp(), ...facts };
    await rig.db('customers').insert(system).onConflict('id').merge(facts);
    await rig.db.transaction(trx => appendEvent(trx, flowEvent(SYSTEM_CUSTOMER)));
    assert.equal(await countOf(rig.db, 'webhook_deliveries'), before);
  });

  it('tells that a log grew, and that there is something to deliver only when there is', async () => {
    const customers = [await addCustomer(rig.db), await addCustomer(rig.db, { uri: 'http://127.0.0.1:9/' })];
    const grown: (Growth | undefined)[] = [];
    const feed = new LogFeed(rig);
    feed.onGrowth(growth => void grown.push(growth));
    feed.start();
    try {
      await eventually(
        'listening',
        () => grown,
        ({ length }) => length === 1,
      );
      await rig.db.transaction(trx =>
        appendEvents(
          onTransaction(trx),
          customers.map(id => flowEvent(id)),
        ),
      );
      await eventually(
        'both customers',
        () => grown,
        ({ length }) => length === 3,
      );
    } finally {
      await feed.stop();
    }
    assert.deepEqual(
      new Map(grown.map(growth => [growth?.customer_id, growth?.posted])),
      new Map([
        [undefined, undefined],
        [customers[0], false],
        [customers[1], true],
      ]),
    );
  });

  it('queues an event of an activeflow for the webhook of that activeflow too', async () => {
    const customer = await addCustomer(rig.db, { uri: 'http://127.0.0.1:9/customer' });
    const activeflow = newId();
    const data = { webhook_uri: 'http://127.0.0.1:9/flow', webhook_method: 'PUT' };
    const tm_create = '2026-11-21 10:00:00.000000';
    await rig.db('activeflows').insert({ id: activeflow, customer_id: customer, version: 1, data, tm_create });
    await rig.db.transaction(trx => appendEvent(trx, flowEvent(customer, { activeflow_id: activeflow })));
    const rows = (await rig.db('webhook_deliveries').where('customer_id', customer).orderBy('target')) as {
      target: string;
      method: string;
      uri: string;
    }[];
    assert.deepEqual(
      rows.map(row => [row.target, row.method, row.uri]),
      [
        ['activeflow', 'PUT', 'http://127.0.0.1:9/flow'],
        ['customer', 'POST', 'http://127.0.0.1:9/customer'],
      ],
    );
  });
});

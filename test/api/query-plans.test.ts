import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { claimDeliveries } from '../../control-api/events/deliveries.ts';
import { lastSequences, readEvents } from '../../control-api/events/log.ts';
import { Authenticator } from '../../control-api/http/authenticate.ts';
import { removeOldKeys } from '../../control-api/http/idempotency.ts';
import { removeOldDeliveries } from '../../control-api/jobs/delivery-expiry.ts';
import { Store } from '../../control-api/resources/store.ts';
import { tags } from '../../control-api/resources/tags.ts';
import { addCustomer, openRig, type EventRig } from './events-rig.ts';

interface Query {
  sql: string;
  bindings: unknown[];
}

describe('the queries of the hot paths', () => {
  let rig: EventRig;
  let customer: string;
  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    customer = await addCustomer(rig.db, { uri: 'http://127.0.0.1:9/' });
  });
  after(() => rig.close());

  /** Does something and returns the queries it made. */
  const queriesOf = async (work: () => Promise<unknown>): Promise<Query[]> => {
    const queries: Query[] = [];
    const hear = ({ sql, bindings }: Query): unknown => queries.push({ sql, bindings });
    rig.db.on('query', hear);
    await work().finally(() => rig.db.removeListener('query', hear));
    return queries.filter(({ sql }) => !/^(begin|commit)/i.test(sql));
  };

  /** The plan where an index is preferred whenever one fits, as it is when the tables are large. */
  const planOf = ({ sql, bindings }: Query): Promise<string> =>
    rig.db.transaction(async trx => {
      await trx.raw('set local enable_seqscan = off');
      const explain = `explain ${sql.replace(/\$\d+/g, '?')}`;
      const { rows } = await trx.raw<{ rows: Record<'QUERY PLAN', string>[] }>(explain, bindings as never);
      return rows.map(row => row['QUERY PLAN']).join('\n');
    });

  const due = { most: 64, most_per_customer: 8, busy_customers: [], lease_ms: 1000 };
  const scope = () => ({ customer_id: customer, any_customer: false, request_id: '' });
  const store = (): Store => new Store(tags, rig.db);
  const make = () => store().insert(scope(), { name: 'tag', detail: '' });
  const identify = () => {
    const asked = { url: '/v1.0/tags?accesskey=tk_1', headers: {} };
    return assert.rejects(new Authenticator(rig.db, Buffer.alloc(32)).identify(asked), {
      reason: 'INVALID_CREDENTIALS',
    });
  };

  const HOT: { what: string; indexes: string[]; work: () => Promise<unknown> }[] = [
    { what: 'whose an accesskey is', indexes: ['accesskeys_token_hash_key', 'customers_pkey'], work: identify },
    {
      what: 'a page of a list',
      indexes: ['tags_customer'],
      work: () => store().list(scope(), { page_size: 100, page_token: timestamp() }),
    },
    {
      what: 'a record',
      indexes: ['tags_pkey'],
      work: async () => assert.rejects(store().get(scope(), newId()), { reason: 'TAG_NOT_FOUND' }),
    },
    {
      what: 'what a creation is told to',
      indexes: ['events_pkey', 'webhook_deliveries_in_order', 'customers_pkey'],
      work: make,
    },
    {
      what: 'the events behind a sequence',
      indexes: ['events_customer_id_sequence_key'],
      work: () => readEvents(rig.db, customer, 0, 200),
    },
    { what: 'the last sequence', indexes: ['event_sequences_pkey'], work: () => lastSequences(rig.db, [customer]) },
    {
      what: 'deliveries that are due',
      indexes: ['webhook_deliveries_due', 'webhook_deliveries_in_order', 'events_pkey'],
      work: () => claimDeliveries(rig.db, due),
    },
    {
      what: 'deliveries that arrived long ago',
      indexes: ['webhook_deliveries_arrived'],
      work: () => removeOldDeliveries(rig.db),
    },
    {
      what: 'answers of yesterday',
      indexes: ['idempotency_keys_old'],
      work: () => removeOldKeys(rig.db),
    },
  ];
  for (const { what, indexes, work } of HOT)
    it(`find ${what} by an index`, async () => {
      const plans = await Promise.all((await queriesOf(work)).map(planOf));
      const plan = plans.join('\n');
      for (const index of indexes) assert.ok(plan.includes(index), `${index} is not in\n${plan}`);
      assert.doesNotMatch(plan, /Seq Scan/, plan);
    });
});

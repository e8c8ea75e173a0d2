import type { Knex } from 'knex';
import { SYSTEM_CUSTOMER } from '#contract/billing';
import { topicOf, type EventMessage, type EventType } from '#contract/events';
import { isSet, newId } from '#contract/ids';
import { timestamp, toRfc3339, type Timestamp } from '#contract/time';
import { onTransaction, type RunStatement } from './statement.ts';

/** An event on its way into the log. `id` and `timestamp` are given by media-app for live resources, else made here. */
export interface NewEvent {
  customer_id: string;
  event_type: EventType;
  /** The third part of the topic: `call`, `flow`, … */
  resource: string;
  resource_id: string;
  /** The public form of the resource. */
  data: Record<string, unknown>;
  request_id: string;
  activeflow_id?: string;
  id?: string;
  timestamp?: Timestamp;
}

/**
 * The channel on which Postgres tells every control-api that a customer's log grew. The payload is the customer id, and
 * POSTED behind it when webhooks are to be delivered.
 */
export const EVENTS_CHANNEL = 'tl_events';
export const POSTED = ' posted';

/**
 * Appends events in one round trip. The row of `event_sequences` stays locked until the caller commits, so a customer's
 * sequence has no gaps and becomes visible in order. An event that is already there changes nothing and takes no number.
 * A delivery behind another of its resource starts as `waiting`; the lock on the one ahead makes whoever settles that
 * one wait for us, and so see whom to wake (PROMOTE in deliveries.ts). An event has room for two deliveries, so creation
 * times are two microseconds apart at least and never tie within a customer.
 */
const APPEND = {
  name: 'append_events',
  text: `
  with given as materialized (
    select e.*, row_number() over (partition by e.customer_id order by e.place) as step
    from jsonb_to_recordset($1::jsonb) as e (
      place int, id uuid, customer_id uuid, event_type text, topic text, resource text, resource_id uuid,
      activeflow_id uuid, "timestamp" timestamptz, data jsonb, request_id text)
    where not exists (select 1 from events where events.id = e.id)
  ), counted as (
    select customer_id, count(*) as n from given group by customer_id order by customer_id
  ), numbered as (
    insert into event_sequences as s (customer_id, last, tm_last) select customer_id, n, clock_timestamp() from counted
    on conflict (customer_id) do update set last = s.last + excluded.last,
      tm_last = greatest(clock_timestamp(), s.tm_last + 2 * excluded.last * interval '1 microsecond')
    returning customer_id, last, tm_last
  ), added as (
    insert into events (id, customer_id, sequence, event_type, topic, resource, resource_id, activeflow_id,
      "timestamp", data, request_id)
    select g.id, g.customer_id, numbered.last - counted.n + g.step, g.event_type, g.topic, g.resource, g.resource_id,
      g.activeflow_id, g."timestamp", g.data, g.request_id
    from given g join numbered using (customer_id) join counted using (customer_id)
    returning id, customer_id, sequence, topic, activeflow_id
  ), targets as (
    select a.id, a.customer_id, a.sequence, 'customer' as target, a.topic || ' customer' as order_key,
      c.webhook_uri as uri, c.webhook_method as method
    from added a join customers c on c.id = a.customer_id
    where c.webhook_uri <> '' and c.tm_delete is null and c.id <> '${SYSTEM_CUSTOMER}'
    union all
    select a.id, a.customer_id, a.sequence, 'activeflow', a.topic || ' activeflow',
      f.data ->> 'webhook_uri', f.data ->> 'webhook_method'
    from added a join activeflows f on f.id = a.activeflow_id and f.customer_id = a.customer_id
    where f.data ->> 'webhook_uri' <> ''
  ), behind as (
    select k.order_key from (select distinct order_key from targets) k cross join lateral (
      select 1 from webhook_deliveries w where w.order_key = k.order_key and w.state in ('waiting', 'pending')
      order by w.sequence desc limit 1 for share) unsettled
  ), posted as (
    insert into webhook_deliveries (event_id, customer_id, sequence, target, order_key, uri, method, tm_create, state)
    select id, customer_id, sequence, target, order_key, uri, coalesce(nullif(method, ''), 'POST'),
      tm_last - (2 * (last - sequence) + (target = 'customer')::int) * interval '1 microsecond',
      case when behind.order_key is null and row_number() over (partition by order_key order by sequence) = 1
        then 'pending' else 'waiting' end
    from targets join numbered using (customer_id) left join behind using (order_key)
    returning customer_id
  )
  select pg_notify('${EVENTS_CHANNEL}',
    customer_id || case when customer_id in (select customer_id from posted) then '${POSTED}' else '' end)
  from numbered`,
};

const row = (event: NewEvent, place: number): Record<string, unknown> => ({
  ...event,
  place,
  id: event.id ?? newId(),
  topic: topicOf(event.customer_id, event.resource, event.resource_id),
  activeflow_id: isSet(event.activeflow_id) ? event.activeflow_id : null,
  timestamp: toRfc3339(event.timestamp ?? timestamp()),
});

/** Appends events, in order, on a transaction of the caller. */
export const appendEvents = async (run: RunStatement, events: NewEvent[]): Promise<void> => {
  const rows = new Map(events.map((event, place) => row(event, place)).map(each => [each['id'], each]));
  if (rows.size > 0) await run(APPEND, JSON.stringify([...rows.values()]));
};

/**
 * Appends one event in the transaction that writes its row: numbers it, adds it to the log, queues the customer's webhook
 * (and the activeflow's own, accounts-and-plumbing 27) and wakes WebSocket and webhook workers when the caller commits.
 */
export async function appendEvent(trx: Knex.Transaction, event: NewEvent): Promise<void> {
  await appendEvents(onTransaction(trx), [event]);
}

/** The columns of an `EventMessage`, as SQL; independent of how a client parses timestamps. */
export const MESSAGE_COLUMNS = `e.id, e.sequence::float8 as sequence, e.event_type,
  to_char(e."timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "timestamp", e.topic,
  e.request_id, e.data`;

const READ = {
  name: 'read_events',
  text: `select ${MESSAGE_COLUMNS} from events e where e.customer_id = ? and e.sequence > ? order by e.sequence limit ?`,
};

/** The events of a customer after a sequence, oldest first, at most `limit`. */
export const readEvents = async (
  database: Knex,
  customerId: string,
  afterSequence: number,
  limit: number,
): Promise<EventMessage[]> => {
  const { name, text } = READ;
  const { rows } = await database
    .raw<{ rows: EventMessage[] }>(text, [customerId, afterSequence, limit])
    .options({ name });
  return rows;
};

/** The last sequence of each customer that has one. */
export const lastSequences = async (database: Knex, customerIds: string[]): Promise<Map<string, number>> => {
  const { rows } = await database.raw<{ rows: { customer_id: string; last: number }[] }>(
    'select customer_id, last::float8 as last from event_sequences where customer_id = any(?::uuid[])',
    [customerIds],
  );
  return new Map(rows.map(each => [each.customer_id, each.last]));
};

import type { Knex } from 'knex';
import type { EventMessage } from '#contract/events';
import type { Method } from '#outbound/guarded-fetch';
import { MESSAGE_COLUMNS } from './log.ts';

/** A webhook delivery that was leased to us for one attempt. */
export interface Delivery {
  id: string;
  event_id: string;
  customer_id: string;
  uri: string;
  method: Method;
  /** Which attempt this is, from 1. */
  attempts: number;
  /** How many of them came before the last replay. */
  attempts_before: number;
  webhook_secret: string | null;
  request_id: string;
  event: EventMessage;
}

export type Outcome = 'delivered' | 'retry' | 'dead';

/** What came of one attempt. */
export interface Attempt {
  outcome: Outcome;
  status: number | null;
  error: string | null;
  duration_ms: number;
}

/** A delivery that failed for so long is given up. */
const GIVE_UP = '3 days';

/**
 * Leases due deliveries: a lease is a `tm_next_attempt` in the future, so nobody else takes them and a crash gives them
 * back. A delivery is not due while an earlier one of the same resource and target is unsettled: two may both have begun
 * as pending when their transactions overlapped.
 */
const CLAIM = `
  with due as (
    select d.id
    from (select distinct customer_id from webhook_deliveries
      where state = 'pending' and tm_next_attempt <= now() and customer_id <> all (cast(:busy_customers as uuid[]))) c
    cross join lateral (
      select w.id from webhook_deliveries w
      where w.customer_id = c.customer_id and w.state = 'pending' and w.tm_next_attempt <= now()
        and not exists (select 1 from webhook_deliveries earlier
          where earlier.order_key = w.order_key and earlier.state in ('waiting', 'pending')
            and earlier.sequence < w.sequence)
      order by w.tm_next_attempt limit :most_per_customer for update of w skip locked
    ) d limit :most
  ), leased as (
    update webhook_deliveries w set attempts = attempts + 1, tm_update = now(),
      tm_first_attempt = coalesce(tm_first_attempt, now()),
      tm_next_attempt = now() + :lease_ms * interval '1 millisecond'
    from due where w.id = due.id
    returning w.id, w.event_id, w.customer_id, w.uri, w.method, w.attempts, w.attempts_before
  )
  select l.*, c.webhook_secret, e.request_id, to_jsonb(m) as event
  from leased l join events e on e.id = l.event_id
  cross join lateral (select ${MESSAGE_COLUMNS}) m
  left join customers c on c.id = l.customer_id
  order by e.sequence`;

/**
 * Leases the deliveries that are due for `lease_ms`, so that no other sender takes them.
 * @param given how many at most, in all and of a customer, and customers who are being served already
 * @returns the leased ones, in the order of their events
 */
export const claimDeliveries = async (
  database: Knex,
  given: { most: number; most_per_customer: number; busy_customers: string[]; lease_ms: number },
): Promise<Delivery[]> => (await database.raw<{ rows: Delivery[] }>(CLAIM, { ...given })).rows;

/** Attempts of a delivery that are kept: three days of them, and those of a replay or two. */
export const MOST_ATTEMPTS = 100;

/** A late result of an attempt whose lease ran out counts only when it is a success. */
const SETTLE = `
  with logged as (
    insert into webhook_attempts (delivery_id, attempt, uri, status, error, duration_ms)
    values (:id, :attempt, :uri, :status, :error, :duration_ms) on conflict do nothing
  ), forgotten as (
    delete from webhook_attempts where delivery_id = :id and attempt <= :attempt - ${MOST_ATTEMPTS}
  )
  update webhook_deliveries set tm_update = now(), last_status = :status, last_error = :error,
    tm_next_attempt = now() + :retry_ms * interval '1 millisecond',
    state = case when :outcome <> 'retry' then :outcome
      when tm_first_attempt < now() - interval '${GIVE_UP}' then 'dead' else 'pending' end
  where id = :id and state = 'pending' and (attempts = :attempt or :outcome = 'delivered')
  returning state`;

/** A statement of its own after SETTLE: it must see the deliveries that were added while SETTLE waited for its row. */
const PROMOTE = `
  update webhook_deliveries set state = 'pending', tm_next_attempt = now() where id = (
    select w.id from webhook_deliveries w join webhook_deliveries settled on settled.order_key = w.order_key
    where settled.id = ? and w.state = 'waiting' order by w.sequence limit 1)`;

type State = 'pending' | 'delivered' | 'dead';

/** Writes an attempt down and settles the delivery or plans the next attempt. Returns the state it is in now. */
export const recordAttempt = async (
  database: Knex,
  delivery: Delivery,
  attempt: Attempt,
  retryMs: number,
): Promise<State | undefined> => {
  const { id, uri, attempts } = delivery;
  const bindings = { id, uri, attempt: attempts, retry_ms: retryMs, ...attempt };
  return database.transaction(async trx => {
    const { rows } = await trx.raw<{ rows: { state: State }[] }>(SETTLE, bindings);
    const state = rows[0]?.state;
    if (state === 'delivered' || state === 'dead') await trx.raw(PROMOTE, [id]);
    return state;
  });
};

import { PlatformError } from '#contract/errors';
import type { EventMessage } from '#contract/events';
import { NEVER, timestamp, toRfc3339, type Timestamp } from '#contract/time';
import type { Queryable, Transaction } from '../db.ts';
import { EVENTS_CHANNEL, MESSAGE_COLUMNS, POSTED } from './log.ts';

export const DELIVERY_STATES = ['waiting', 'pending', 'delivered', 'dead'] as const;
export const DELIVERY_TARGETS = ['customer', 'activeflow'] as const;

/** A delivery as clients see it. */
export interface DeliveryRecord {
  id: string;
  customer_id: string;
  event_id: string;
  event_type: string;
  sequence: number;
  topic: string;
  target: (typeof DELIVERY_TARGETS)[number];
  uri: string;
  method: string;
  state: (typeof DELIVERY_STATES)[number];
  attempts: number;
  last_status: number | null;
  last_error: string | null;
  tm_next_attempt: Timestamp;
  tm_create: Timestamp;
  tm_update: Timestamp;
}

/** One attempt, as the receiver's side of it looked from here. */
export interface AttemptRecord {
  attempt: number;
  uri: string;
  status: number | null;
  error: string | null;
  duration_ms: number;
  /** When it was over. */
  tm_create: Timestamp;
}

/** A delivery with the message it carries and its attempts, oldest first. */
export interface WholeDelivery extends DeliveryRecord {
  event: EventMessage;
  attempt_log: AttemptRecord[];
}

/** Which deliveries a list shows; what is undefined does not matter. */
export interface DeliveryFilters {
  state?: string | undefined;
  target?: string | undefined;
  event_id?: string | undefined;
  event_type?: string | undefined;
  resource_id?: string | undefined;
}

const COLUMNS = `d.id, d.customer_id, d.event_id, e.event_type, d.sequence::float8 as sequence, e.topic, d.target, d.uri,
  d.method, d.state, d.attempts, d.last_status, d.last_error,
  coalesce(case d.state when 'pending' then d.tm_next_attempt end, '${NEVER}') as tm_next_attempt,
  d.tm_create, coalesce(d.tm_update, '${NEVER}') as tm_update`;

const FILTERS: Record<keyof DeliveryFilters, string> = {
  state: 'd.state',
  target: 'd.target',
  event_id: 'd.event_id',
  event_type: 'e.event_type',
  resource_id: 'e.resource_id',
};

/** A page of a customer's deliveries, newest first, and one more when there is one. */
export const listDeliveries = async (
  db: Queryable,
  customerId: string,
  page: { page_size: number; page_token?: Timestamp | undefined },
  filters: DeliveryFilters,
): Promise<DeliveryRecord[]> => {
  const only = Object.entries(filters).filter(([, value]) => value !== undefined) as [keyof DeliveryFilters, string][];
  const { rows } = await db.raw<{ rows: DeliveryRecord[] }>(
    `select ${COLUMNS} from webhook_deliveries d join events e on e.id = d.event_id
     where d.customer_id = :customer_id and d.tm_create < :before::timestamptz
       ${only.map(([name]) => `and ${FILTERS[name]} = :${name}`).join(' ')}
     order by d.tm_create desc limit :limit`,
    {
      ...Object.fromEntries(only),
      customer_id: customerId,
      before: toRfc3339(page.page_token ?? timestamp()),
      limit: page.page_size + 1,
    },
  );
  return rows;
};

/**
 * One delivery with its message and its attempts; of any customer when `customerId` is undefined.
 * @throws PlatformError WEBHOOK_DELIVERY_NOT_FOUND
 */
export const readDelivery = async (
  db: Queryable,
  customerId: string | undefined,
  id: string,
): Promise<WholeDelivery> => {
  const { rows } = await db.raw<{ rows: WholeDelivery[] }>(
    `select ${COLUMNS}, (select to_jsonb(m) from (select ${MESSAGE_COLUMNS}) m) as event,
       (select coalesce(jsonb_agg(to_jsonb(a) order by a.attempt), '[]') from (
         select attempt, uri, status, error, duration_ms,
           to_char(tm_create at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as tm_create
         from webhook_attempts where delivery_id = d.id) a) as attempt_log
     from webhook_deliveries d join events e on e.id = d.event_id
     where d.id = :id and d.customer_id = coalesce(:customer_id, d.customer_id)`,
    { id, customer_id: customerId ?? null },
  );
  if (!rows[0]) throw new PlatformError('WEBHOOK_DELIVERY_NOT_FOUND', 'WebhookDelivery not found.');
  return rows[0];
};

interface Locked {
  state: DeliveryRecord['state'];
  at_hand: boolean;
  uri: string;
}

/** An attempt is at hand when it was counted and is not in the log yet. A customer's webhook may have moved since. */
const LOCK = `
  select d.state, case d.target when 'customer' then coalesce(c.webhook_uri, '') else d.uri end as uri,
    d.state = 'pending' and d.attempts > 0 and not exists (
      select 1 from webhook_attempts a where a.delivery_id = d.id and a.attempt = d.attempts) as at_hand
  from webhook_deliveries d left join customers c on c.id = d.customer_id
  where d.id = ? for update of d`;

const REPLAY = `
  with replayed as (
    update webhook_deliveries d set state = 'pending', tm_next_attempt = now(), tm_first_attempt = null,
      attempts_before = d.attempts, tm_update = now(),
      uri = case d.target when 'customer' then c.webhook_uri else d.uri end,
      method = case d.target when 'customer' then coalesce(nullif(c.webhook_method, ''), 'POST') else d.method end
    from customers c where d.id = ? and c.id = d.customer_id returning d.customer_id
  )
  select pg_notify('${EVENTS_CHANNEL}', customer_id || '${POSTED}') from replayed`;

/**
 * Sends a delivery once more, at once, to where the webhook of its customer points now, under the same event id. Its
 * three days and its back-off begin anew; later events of the resource that are not delivered yet wait for it. An attempt
 * at hand is the retry that was asked for.
 * @throws PlatformError STATE_INVALID when it waits behind another, or nothing says where to send it
 */
export const replayDelivery = async (trx: Transaction, id: string): Promise<void> => {
  const { rows } = await trx.raw<{ rows: Locked[] }>(LOCK, [id]);
  const [delivery] = rows;
  if (delivery?.state === 'waiting')
    throw new PlatformError('STATE_INVALID', 'It waits behind an earlier event of the same resource: retry that one.');
  if (delivery?.uri === '')
    throw new PlatformError('STATE_INVALID', 'The customer has no webhook_uri: set one first (PUT /customer).');
  if (delivery && !delivery.at_hand) await trx.raw(REPLAY, [id]);
};

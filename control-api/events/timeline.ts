import type { Knex } from 'knex';
import { parseTimestamp, timestamp, toRfc3339, type Timestamp } from '#contract/time';
import type { MediaFacts, SipMessageRecord } from '#contract/timeline';

/** One entry of a timeline as shown; data is the resource at that moment. */
export interface TimelineEntry {
  /** RFC 3339, milliseconds. */
  timestamp: string;
  event_type: string;
  data: Record<string, unknown>;
}

export interface TimelinePage {
  result: TimelineEntry[];
  next_page_token: string;
}

/** Whose story is told: everything of these resources and of everything these activeflows touched. */
export interface Scope {
  customer_id: string;
  resource_ids: string[];
  activeflow_ids: string[];
  /** Also SIP messages and webhook attempts. */
  everything: boolean;
}

interface Page {
  page_size: number;
  page_token?: Timestamp | undefined;
}

interface Row extends TimelineEntry {
  cursor: string;
}

const TOLD = `customer_id = :customer_id and (resource_id = any(:resource_ids::uuid[])
  or activeflow_id = any(:activeflow_ids::uuid[]))`;

const EVENTS = `
  select "timestamp" as at, 1 as rank, sequence as place, event_type, data from events where ${TOLD}
  union all
  select "timestamp", 2, 0, event_type, data from timeline_notes where ${TOLD}
  union all
  select "timestamp", 3, 0, 'call_media', jsonb_build_object('call_id', call_id) || data from call_media
  where customer_id = :customer_id and call_id = any(:resource_ids::uuid[])`;

const EVERYTHING = `${EVENTS}
  union all
  select m."timestamp", 0, 0, 'sip_message', to_jsonb(m) - 'id' - 'customer_id' - 'timestamp' from sip_messages m
  where customer_id = :customer_id and call_id = any(:resource_ids::uuid[])
  union all
  select a.tm_create, 4, 0, 'webhook_attempt', jsonb_build_object('event_id', e.id, 'event_type', e.event_type,
    'target', d.target, 'method', d.method, 'uri', a.uri, 'attempt', a.attempt, 'status', a.status, 'error', a.error,
    'duration_ms', a.duration_ms)
  from (select id, event_type from events where ${TOLD}) e
  join webhook_deliveries d on d.event_id = e.id join webhook_attempts a on a.delivery_id = d.id`;

/** Ties come along whole: the cursor is a time, and must not fall between two entries of one moment. */
const pageSql = (entries: string): string => `
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "timestamp",
    to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as cursor, event_type, data
  from (
    select * from (${entries}) everything where at < :before::timestamptz
    order by at desc fetch first :limit rows with ties
  ) page order by at desc, rank desc, place desc`;

/** A page of a story, newest first. */
export const readTimeline = async (database: Knex, scope: Scope, page: Page): Promise<TimelinePage> => {
  const { everything, ...whose } = scope;
  const before = toRfc3339(page.page_token ?? timestamp());
  const { rows } = await database.raw<{ rows: Row[] }>(pageSql(everything ? EVERYTHING : EVENTS), {
    ...whose,
    before,
    limit: page.page_size + 1,
  });
  const last = rows[page.page_size - 1]?.cursor ?? '';
  const shown = rows.filter(row => row.cursor >= last);
  return {
    result: shown.map(({ timestamp: at, event_type, data }) => ({ timestamp: at, event_type, data })),
    next_page_token: rows.length > page.page_size ? last : '',
  };
};

const FAMILY = `
  with own as (
    select id, data from calls where customer_id = :customer_id and (id = any(:call_ids::uuid[])
      or id in (select resource_id from events where activeflow_id = any(:activeflow_ids::uuid[]) and resource = 'call'))
  ), family as (
    select id, data from own
    union
    select id, data from calls where customer_id = :customer_id
      and id in (select jsonb_array_elements_text(data -> 'chained_call_ids')::uuid from own)
  )
  select id::text from family union select data ->> 'groupcall_id' from family`;

/** The calls of a story, the calls they dialled, and the groupcalls of all of them. */
export const familyOf = async (
  database: Knex,
  whose: { customer_id: string; call_ids: string[]; activeflow_ids: string[] },
): Promise<string[]> => {
  const { rows } = await database.raw<{ rows: { id: string | null }[] }>(FAMILY, whose);
  return rows.flatMap(row => (row.id ? [row.id] : []));
};

/** The SIP messages of a call's leg, in the order they were seen. */
export const readSipMessages = async (
  database: Knex,
  customerId: string,
  callId: string,
): Promise<SipMessageRecord[]> => {
  const rows = await database('sip_messages')
    .where({ customer_id: customerId, call_id: callId })
    .orderBy('timestamp')
    .select<SipMessageRecord[]>('*');
  return rows.map(row => ({ ...row, timestamp: parseTimestamp(row.timestamp) ?? row.timestamp }));
};

/** What the media server counted of a call that is over; `undefined` before that and when it did not say. */
export const readMediaFacts = async (
  database: Knex,
  customerId: string,
  callId: string,
): Promise<MediaFacts | undefined> => {
  const row = await database('call_media')
    .where({ customer_id: customerId, call_id: callId })
    .first<{ data: MediaFacts } | undefined>('data');
  return row?.data;
};

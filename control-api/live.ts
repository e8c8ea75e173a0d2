import type { Redis } from 'ioredis';
import type { Knex } from 'knex';
import { LIVE_EVENTS, type LiveEntry, type LiveRecord, type LiveResources as Shapes } from '#contract/events';
import { FINISHED_TTL_S, keys, type LiveKind } from '#contract/keys';
import { NEVER, timestamp, toRfc3339, type Timestamp } from '#contract/time';
import { appendEvent, type NewEvent } from './events/log.ts';

export const LIVE_TABLES = {
  call: 'calls',
  groupcall: 'groupcalls',
  activeflow: 'activeflows',
  conference: 'conferences',
  conferencecall: 'conferencecalls',
  recording: 'recordings',
  transfer: 'transfers',
} as const satisfies Record<LiveKind, string>;

/** A live resource as found: `live` is true while media-app holds it and it can still be commanded through `owner`. */
export interface Found<K extends LiveKind> {
  data: Shapes[K];
  owner?: string;
  live: boolean;
}

/** Kinds that a client can delete; of the others a record stays. */
type Deletable = Exclude<LiveKind, 'conferencecall' | 'transfer'>;

/** What to list: at most `page_size` records created before `page_token`, newest first (accounts-and-plumbing 1.5). */
export interface LivePage {
  page_size: number;
  page_token?: Timestamp | undefined;
  /** Only records with these values; an undefined one does not matter. */
  only?: Record<string, unknown>;
}

interface Row<K extends LiveKind> {
  id: string;
  version: number;
  data: Shapes[K];
}

/** How many changes that have not reached Postgres a list looks through; a projector that far behind is an outage. */
const UNPROJECTED = 2000;

const isDeleted = ({ tm_delete }: Shapes[LiveKind]): boolean => tm_delete !== null && tm_delete !== NEVER;
const valueOf = (data: Shapes[LiveKind], name: string): unknown => (data as unknown as Record<string, unknown>)[name];

/** A row the projector has not made yet is inserted at version 0, so that every version of media-app is newer. */
const MARK_DELETED = `
  insert into TABLE (id, customer_id, version, data, tm_create, tm_delete)
  values (:id, :customer_id, 0, :data, :tm_create, :tm_delete)
  on conflict (id) do update set tm_delete = excluded.tm_delete,
    data = TABLE.data || jsonb_build_object('tm_delete', excluded.data -> 'tm_delete')`;

const markParameters = (data: Shapes[LiveKind] & { tm_delete: Timestamp }): Record<string, string> => ({
  id: data.id,
  customer_id: data.customer_id,
  data: JSON.stringify(data),
  tm_create: toRfc3339(data.tm_create ?? data.tm_delete),
  tm_delete: toRfc3339(data.tm_delete),
});

/** An entry of the stream, or nothing: what cannot be read is the projector's to report. */
const parseEntry = (text: string | undefined): LiveEntry[] => {
  try {
    return [JSON.parse(text ?? '') as LiveEntry];
  } catch {
    return [];
  }
};

/** Reads of calls, groupcalls and activeflows: Redis while they live, Postgres after. */
export class LiveResources {
  readonly #database: Knex;
  readonly #redis: Redis;

  constructor(given: { database: Knex; redis: Redis }) {
    this.#database = given.database;
    this.#redis = given.redis;
  }

  /** The record in Redis; undefined when it is not there (any more). */
  async get<K extends LiveKind>(kind: K, id: string): Promise<LiveRecord<K> | undefined> {
    const text = await this.#redis.get(keys.live(kind, id));
    return text === null ? undefined : (JSON.parse(text) as LiveRecord<K>);
  }

  /** A record of a customer (of any customer when `customerId` is undefined), wherever it is; deleted ones included. */
  async find<K extends LiveKind>(kind: K, customerId: string | undefined, id: string): Promise<Found<K> | undefined> {
    const [text, deleted] = await this.#redis.mget(keys.live(kind, id), keys.deleted(kind, id));
    const found = text ? this.#alive(JSON.parse(text) as LiveRecord<K>, deleted) : await this.#stored(kind, id);
    return found && (customerId === undefined || found.data.customer_id === customerId) ? found : undefined;
  }

  /** A page of a customer's records, each as fresh as Redis knows it, including those the projector has not seen yet. */
  async list<K extends LiveKind>(
    kind: K,
    customerId: string,
    page: LivePage,
  ): Promise<{ result: Shapes[K][]; next_page_token: string }> {
    const before = page.page_token ?? timestamp();
    const only = Object.entries(page.only ?? {}).filter(([, value]) => value !== undefined);
    const { rows, cursor } = await this.#page(kind, customerId, before, page.page_size + 1, Object.fromEntries(only));
    const fresh = await this.#unprojected(kind, customerId, before, cursor);
    const merged = new Map(rows.map(row => [row.id, row]));
    for (const row of fresh) if (row.version > (merged.get(row.id)?.version ?? 0)) merged.set(row.id, row);
    const wanted = (row: Row<K>) =>
      !isDeleted(row.data) && only.every(([name, value]) => valueOf(row.data, name) === value);
    const sorted = [...merged.values()]
      .filter(wanted)
      .sort((a, b) => ((a.data.tm_create ?? '') < (b.data.tm_create ?? '') ? 1 : -1));
    const taken = sorted.slice(0, page.page_size);
    const result = (await this.#overlay(kind, taken)).filter(wanted).map(row => row.data);
    const more = Math.max(rows.length, sorted.length) > page.page_size;
    const last = (taken.at(-1) ?? rows.at(-1))?.data;
    return { result, next_page_token: more && last ? toRfc3339(last.tm_create ?? '') : '' };
  }

  /**
   * Deletes a record for clients: sets `tm_delete`, which stays whatever media-app still reports of it, and appends the
   * event `<kind>_deleted` where the kind has one. Whoever wants a live one ended commands that first.
   */
  async remove<K extends Deletable>(kind: K, data: Shapes[K], requestId: string): Promise<Shapes[K]> {
    const deleted = { ...data, tm_delete: timestamp() };
    await this.#database.transaction(async trx => {
      await trx.raw(MARK_DELETED.replaceAll('TABLE', LIVE_TABLES[kind]), markParameters(deleted));
      const event = this.#deletion(kind, deleted, requestId);
      if (event) await appendEvent(trx, event);
    });
    await this.#redis.set(keys.deleted(kind, data.id), deleted.tm_delete, 'EX', 2 * FINISHED_TTL_S);
    return deleted;
  }

  #deletion<K extends Deletable>(kind: K, data: Shapes[K], requestId: string): NewEvent | undefined {
    const event_type = LIVE_EVENTS[kind].find(type => type === `${kind}_deleted`);
    if (!event_type) return undefined;
    const flow = 'activeflow_id' in data ? data.activeflow_id : undefined;
    const activeflow_id = kind === 'activeflow' ? data.id : flow;
    return {
      customer_id: data.customer_id,
      event_type,
      resource: kind,
      resource_id: data.id,
      data: { ...data },
      request_id: requestId,
      ...(activeflow_id === undefined ? {} : { activeflow_id }),
    };
  }

  #alive<K extends LiveKind>(record: LiveRecord<K>, deleted: string | null | undefined): Found<K> {
    const data = deleted ? { ...record.data, tm_delete: deleted } : record.data;
    return { data, owner: record.owner, live: !record.final };
  }

  async #stored<K extends LiveKind>(kind: K, id: string): Promise<Found<K> | undefined> {
    const row = await this.#database<Row<K>>(LIVE_TABLES[kind]).where('id', id).first('data');
    return row && { data: (row as Row<K>).data, live: false };
  }

  /** Rows and the projector's cursor in one snapshot, so that the stream after the cursor is exactly what rows lack. */
  async #page<K extends LiveKind>(
    kind: K,
    customerId: string,
    before: Timestamp,
    limit: number,
    only: Record<string, unknown>,
  ): Promise<{ rows: Row<K>[]; cursor: string }> {
    const { rows } = await this.#database.raw<{ rows: (Row<K> & { cursor: string })[] }>(
      `select c.stream_id as cursor, r.id, r.version, r.data from projector_cursor c left join lateral (
         select id, version, data, tm_create from ${LIVE_TABLES[kind]}
         where customer_id = ? and tm_create < ?::timestamptz and tm_delete is null and data @> ?::jsonb
         order by tm_create desc limit ?) r on true`,
      [customerId, toRfc3339(before), JSON.stringify(only), limit],
    );
    return { rows: rows.filter(row => row.id), cursor: rows[0]?.cursor ?? '0-0' };
  }

  async #unprojected<K extends LiveKind>(
    kind: K,
    customerId: string,
    before: Timestamp,
    cursor: string,
  ): Promise<Row<K>[]> {
    const entries = await this.#redis.xrange(keys.stream, `(${cursor}`, '+', 'COUNT', UNPROJECTED);
    const rows = entries.flatMap(([, fields]) => parseEntry(fields[fields.indexOf('entry') + 1]));
    const wanted = (entry: LiveEntry): entry is LiveEntry<K> =>
      entry.kind === kind && entry.customer_id === customerId && (entry.data.tm_create ?? '') < before;
    return rows.filter(wanted).map(({ id, version, data }) => ({ id, version, data }));
  }

  async #overlay<K extends LiveKind>(kind: K, rows: Row<K>[]): Promise<Row<K>[]> {
    if (rows.length === 0) return [];
    const texts = await this.#redis.mget(rows.map(row => keys.live(kind, row.id)));
    const records = texts.map(text => (text ? (JSON.parse(text) as LiveRecord<K>) : undefined));
    return rows.map((row, at) => {
      const record = records[at];
      return record && record.version > row.version ? { ...row, version: record.version, data: record.data } : row;
    });
  }
}

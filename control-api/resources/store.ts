import { PlatformError } from '#contract/errors';
import { STORED_EVENTS, type StoredEventType } from '#contract/events';
import { isId, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { mustFit } from '../billing/limits.ts';
import { isDuplicate, type Db, type Queryable, type Rows, type Transaction } from '../db.ts';
import { appendEvent } from '../events/log.ts';
import { Gathered } from '../http/gathered.ts';
import type { ListQuery } from '../http/pagination.ts';
import { renderForEvent, type Resource, type Row } from './resource.ts';

/** On whose behalf rows are touched. There is no way to a row without one. */
export interface Scope {
  customer_id: string;
  /** True for super admins, who reach the rows of every customer by id; lists and creations stay in their own. */
  any_customer: boolean;
  /** Goes into the event that a write appends. */
  request_id: string;
  /** The id of the row that is inserted, when it must not be another the next time. */
  fresh_id?: string | undefined;
}

type Values = Record<string, unknown>;

/** What an event says of a row; most are told as one of the first three. */
type Verb = 'created' | 'updated' | 'deleted' | 'status_updated';

/** More to write in the transaction of a change. */
export type Within = (trx: Transaction, row: Row) => Promise<void>;

/** pg would write an array as a Postgres array; JSON columns want text. */
const forColumns = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    ]),
  );

const isStoredEvent = (text: string): text is StoredEventType => (STORED_EVENTS as readonly string[]).includes(text);

/** What else a write does. */
export interface More {
  /** Writes what belongs to the record, before it is told; returns the row when that changed it. */
  before?: (trx: Transaction, row: Row) => Promise<Row | void>;
  within?: Within;
  /** What the event says of the row, when it is not what the write says. */
  told?: Verb;
}

/** Live rows by their id, for each database and each of its tables: those asked for in one turn are one query. */
const gathered = new WeakMap<Queryable, Map<string, Gathered<Row>>>();

const liveRows = (db: Queryable, table: string): Gathered<Row> => {
  const tables = gathered.get(db) ?? new Map<string, Gathered<Row>>();
  gathered.set(db, tables);
  const rows =
    tables.get(table) ??
    new Gathered<Row>(async ids => {
      const found = await db<Row>(table).whereIn('id', ids).whereNull('tm_delete');
      return new Map(found.map(row => [row.id, row]));
    });
  tables.set(table, rows);
  return rows;
};

/** The rows of one resource. Every write appends its event in the same transaction. */
export class Store {
  readonly #resource: Resource;
  readonly #db: Queryable;

  constructor(resource: Resource, db: Queryable) {
    this.#resource = resource;
    this.#db = db;
  }

  /** A page of the live rows a list shows, newest first, and one more when there is one; filters are fields of the page. */
  async list(scope: Scope, { page_size, page_token, ...filters }: ListQuery): Promise<Row[]> {
    const { table, listed = {}, tenancy = 'own' } = this.#resource;
    const rows = this.#db<Row>(table)
      .where({ ...(tenancy === 'own' ? { customer_id: scope.customer_id } : {}), ...listed })
      .whereNull('tm_delete')
      .where('tm_create', '<', page_token ?? timestamp());
    this.#narrow(rows, filters);
    const found: Row[] = await rows.orderBy('tm_create', 'desc').limit(page_size + 1);
    return this.#whole(this.#db, found);
  }

  /** A live row; rejects with the resource's not-found reason. Another customer's row is not found either. */
  async get(scope: Scope, id: string): Promise<Row> {
    const live = isId(id) ? await liveRows(this.#db, this.#resource.table).get(id.toLowerCase()) : undefined;
    const row = this.#found(live && this.#reaches(scope, live) ? live : undefined);
    return this.#found((await this.#whole(this.#db, [row]))[0]);
  }

  /** Adds a row; rejects ALREADY_EXISTS when a live row has the same unique value, RESOURCE_LIMIT_EXCEEDED when it is one too many. */
  async insert(scope: Scope, values: Values, more: More = {}): Promise<Row> {
    const { table, limited, tenancy } = this.#resource;
    const owner = tenancy === 'none' ? {} : { customer_id: scope.customer_id };
    const row = { id: scope.fresh_id ?? newId(), ...owner, tm_create: timestamp(), ...values };
    const add = async (trx: Transaction): Promise<Row | undefined> => {
      const [inserted] = await trx<Row>(table).insert(forColumns(row)).returning('*');
      if (limited) await mustFit(trx, scope.customer_id, limited);
      return inserted;
    };
    return this.#write(scope, 'created', add, more);
  }

  /** Changes a live row. Nothing to change is a change too: `tm_update` moves and the event is told. */
  async update(scope: Scope, id: string, values: Values, more: More = {}): Promise<Row> {
    const columns = { ...values, tm_update: timestamp() };
    return this.#write(scope, 'updated', trx => this.#change(trx, scope, id, columns), more);
  }

  /** Deletes a row softly; `values` are written with it. */
  async remove(scope: Scope, id: string, values: Values = {}, more: More = {}): Promise<Row> {
    const columns = { ...values, tm_delete: timestamp() };
    return this.#write(scope, 'deleted', trx => this.#change(trx, scope, id, columns), more);
  }

  #narrow(rows: Rows, filters: Values): void {
    for (const [name, value] of Object.entries(filters)) {
      if (value === undefined) continue;
      const narrow = this.#resource.narrow?.[name];
      if (narrow) narrow(rows, value);
      else rows.where(name, value as string);
    }
  }

  #everybodys(scope: Scope): boolean {
    return scope.any_customer || this.#resource.tenancy === 'none';
  }

  #reaches(scope: Scope, row: Row): boolean {
    return this.#everybodys(scope) || row.customer_id === scope.customer_id;
  }

  async #change(trx: Transaction, scope: Scope, id: string, columns: Values): Promise<Row | undefined> {
    const { table, listed = {} } = this.#resource;
    const own = this.#everybodys(scope) ? {} : { customer_id: scope.customer_id };
    const writable = trx<Row>(table)
      .where({ id, ...own, ...listed })
      .whereNull('tm_delete');
    const [row] = await writable.update(forColumns(columns)).returning('*');
    return row;
  }

  #found(row: Row | undefined): Row {
    if (row) return row;
    const { not_found, title } = this.#resource;
    throw new PlatformError(not_found, `${title} not found.`);
  }

  async #write(
    scope: Scope,
    verb: Verb,
    change: (trx: Transaction) => Promise<Row | undefined>,
    { before, within, told = verb }: More,
  ): Promise<Row> {
    const work = async (trx: Transaction): Promise<Row> => {
      const changed = this.#found(await change(trx));
      const complete = (await before?.(trx, changed)) ?? changed;
      const row = this.#found((await this.#whole(trx, [complete]))[0]);
      await tell(trx, this.#resource, told, row, scope.request_id);
      await within?.(trx, row);
      return row;
    };
    return (this.#db as Db).transaction(work).catch((error: unknown) => {
      const { name, duplicate = 'ALREADY_EXISTS' } = this.#resource;
      if (isDuplicate(error)) throw new PlatformError(duplicate, `This ${name} exists already.`);
      throw error;
    });
  }

  async #whole(db: Queryable, rows: Row[]): Promise<Row[]> {
    return this.#resource.whole ? this.#resource.whole(db, rows) : rows;
  }
}

/** Tells a change of a row that was written by hand, in its transaction. */
export const tell = async (
  trx: Transaction,
  resource: Resource,
  verb: Verb,
  row: Row,
  request_id: string,
): Promise<void> => {
  const event_type = `${resource.name}_${verb}`;
  if (!resource.told || !isStoredEvent(event_type)) return;
  const { customer_id, id } = row;
  const data = renderForEvent(resource, row);
  await appendEvent(trx, { customer_id, event_type, resource: resource.name, resource_id: id, data, request_id });
};

/** Tells that rows changed which another change touched, in its transaction. */
export const tellUpdated = async (
  trx: Transaction,
  resource: Resource,
  rows: Row[],
  request_id: string,
): Promise<void> => {
  const whole = resource.whole ? await resource.whole(trx, rows) : rows;
  for (const row of whole) await tell(trx, resource, 'updated', row, request_id);
};

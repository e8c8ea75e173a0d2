import type pg from 'pg';
import type { Transaction } from '../db.ts';

/** Runs one statement with `$1`, `$2`, … on the caller's transaction, whichever client that is. */
export type Query = <R extends object>(sql: string, values: unknown[]) => Promise<R[]>;

/** The query of the projector's connection. */
export const queryOfClient =
  (client: Pick<pg.Client, 'query'>): Query =>
  async <R extends object>(sql: string, values: unknown[]) =>
    (await client.query(sql, values)).rows as R[];

/** The query of a transaction of knex, which numbers no parameters. */
export const queryOf =
  (trx: Transaction): Query =>
  async <R extends object>(sql: string, values: unknown[]) => {
    const bindings: unknown[] = [];
    const unnumbered = sql.replace(/\$(\d+)/g, (_match, place: string) => {
      bindings.push(values[Number(place) - 1]);
      return '?';
    });
    const { rows } = await trx.raw<{ rows: R[] }>(unnumbered, bindings as never);
    return rows;
  };

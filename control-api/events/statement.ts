import type pg from 'pg';
import type { Transaction } from '../db.ts';

/** A statement with one `$1` that a connection plans once and knows by its name from then on. */
export interface Statement {
  name: string;
  text: string;
}

/** Runs a statement on the caller's transaction, whichever client that is. */
export type RunStatement = (statement: Statement, parameter: string) => Promise<unknown>;

/** Runs statements on a connection of pg. */
export const onClient =
  (client: Pick<pg.ClientBase, 'query'>): RunStatement =>
  (statement, parameter) =>
    client.query({ ...statement, values: [parameter] });

/** Runs statements on a transaction of knex, which writes its parameters as `?`. */
export const onTransaction =
  (trx: Transaction): RunStatement =>
  async ({ name, text }, parameter): Promise<unknown> =>
    trx.raw<unknown>(text.replace('$1', '?'), [parameter]).options({ name });

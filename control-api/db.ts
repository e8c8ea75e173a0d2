import knexPackage, { type Knex } from 'knex';
import pg from 'pg';
import { parseTimestamp } from '#contract/time';

export type Db = Knex;
export type Transaction = Knex.Transaction;
/** A database or a transaction in it: whatever a query can run on. */
export type Queryable = Knex | Knex.Transaction;

/** A query that is still being put together. */
export type Rows = Knex.QueryBuilder;

const { builtins } = pg.types;
const asTimestamp = (text: string): string => parseTimestamp(text) ?? text;

/** timestamptz becomes the contract's Timestamp text, bigint a number; the rest is pg's own. */
export const types = {
  getTypeParser: (oid: number, format?: string) => {
    if (oid === (builtins.TIMESTAMPTZ as number)) return asTimestamp;
    if (oid === (builtins.INT8 as number)) return Number;
    return pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text') as (text: string) => unknown;
  },
};

const ignore = (): void => undefined;

/** Opens a pool on a PostgreSQL. Sessions speak UTC, so a Timestamp text goes in and comes out unchanged. */
export const openDatabase = (url: string, poolSize = 10): Db =>
  knexPackage({
    client: 'pg',
    connection: { connectionString: url, types, options: '-c timezone=UTC', application_name: 'control-api' },
    pool: { min: 0, max: poolSize },
    acquireConnectionTimeout: 5000,
    // What knex would print of a failed connection, the caller gets as a rejection.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });

const UNIQUE_VIOLATION = '23505';

/** True when a query failed because a live row with the same unique value exists. */
export const isDuplicate = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === UNIQUE_VIOLATION;

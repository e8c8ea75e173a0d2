import { readdir } from 'node:fs/promises';
import type { Db, Transaction } from '../db.ts';

/** What a file `NNN_name.ts` of this folder exports. Runs once, inside a transaction. */
export interface Migration {
  up(trx: Transaction): Promise<void>;
}

/** Any fixed number: the advisory lock of "somebody migrates this database". */
const MIGRATION_LOCK = 7_120_601;

const migrationNames = async (): Promise<string[]> =>
  (await readdir(new URL('.', import.meta.url)))
    .filter(file => /^\d{3}_\w+\.ts$/.test(file))
    .map(file => file.replace(/\.ts$/, ''))
    .sort();

const load = async (name: string): Promise<Migration> =>
  (await import(new URL(`${name}.ts`, import.meta.url).href)) as Migration;

const applied = async (trx: Transaction): Promise<Set<string>> => {
  await trx.raw(
    'create table if not exists migrations (name text primary key, tm_apply timestamptz not null default now())',
  );
  const rows = await trx<{ name: string }>('migrations').select('name');
  return new Set(rows.map(row => row.name));
};

/**
 * Brings the schema up to date. All missing migrations run in one transaction under an advisory lock, so two processes
 * never interleave and a crash leaves nothing half done. Returns the names applied.
 */
export const migrate = async (db: Db): Promise<string[]> =>
  db.transaction(async trx => {
    await trx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    const done = await applied(trx);
    const missing = (await migrationNames()).filter(name => !done.has(name));
    for (const name of missing) {
      await (await load(name)).up(trx);
      await trx('migrations').insert({ name });
    }
    return missing;
  });

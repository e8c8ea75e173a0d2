import { timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';

/** History, which stays when its customer is deleted, and tables that other statements see to. */
const NOT_MARKED = [
  'customers',
  'calls',
  'groupcalls',
  'activeflows',
  'conferencecalls',
  'conferences',
  'recordings',
  'billings',
];

/** Every table of things that belong to a customer and can be deleted: found, so that a new one is never forgotten. */
const markable = async (trx: Transaction): Promise<string[]> => {
  const { rows } = await trx.raw<{ rows: { name: string }[] }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name in ('customer_id', 'tm_delete')
       and not c.table_name = any(?) group by c.table_name having count(*) = 2 order by c.table_name`,
    [NOT_MARKED],
  );
  return rows.map(row => row.name);
};

/** Recordings are files, and files go; the sweep of deleted recordings removes them from the disk. */
const REMOVE_RECORDINGS = `
  update recordings set tm_delete = :now::timestamptz, data = data || jsonb_build_object('tm_delete', :now::text)
  where customer_id = :customer_id and tm_delete is null`;

/** Deletes softly all that a customer has: people, keys, phones, numbers, flows and the rest (accounts-and-plumbing 9.4). */
export const removeBelongings = async (trx: Transaction, customer_id: string): Promise<void> => {
  const now = timestamp();
  for (const table of await markable(trx))
    await trx(table).where({ customer_id }).whereNull('tm_delete').update({ tm_delete: now });
  for (const table of ['numbers', 'billing_accounts'])
    await trx(table).where({ customer_id }).update({ status: 'deleted' });
  await trx('agent_addresses').where({ customer_id }).delete();
  await trx('link_tokens').where({ customer_id }).delete();
  await trx('directs').where({ customer_id }).delete();
  await trx.raw(REMOVE_RECORDINGS, { now, customer_id });
};

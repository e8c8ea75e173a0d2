import { newId } from '#contract/ids';
import { fromDate, timestamp, type Timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import type { Letter } from './letters.ts';

/**
 * Posts a letter in the transaction that makes it true: it is sent if, and only if, the transaction commits. Wake the
 * delivery afterwards to have it sent at once.
 */
export const post = async (
  trx: Transaction,
  { customer_id, recipient }: { customer_id: string; recipient: string },
  { kind, subject, body }: Letter,
): Promise<void> => {
  const now = timestamp();
  const row = { id: newId(), customer_id, recipient, kind, subject, body, tm_create: now, tm_next: now };
  if (recipient !== '') await trx('mails').insert(row);
};

/** When letters of a kind were posted to somebody in the last milliseconds, newest first; limits look here. */
export const posted = async (
  trx: Transaction,
  to: { customer_id: string; recipient: string; kind: Letter['kind'] },
  withinMs: number,
): Promise<Timestamp[]> => {
  const since = fromDate(new Date(Date.now() - withinMs));
  const rows = trx('mails').where(to).where('tm_create', '>', since).orderBy('tm_create', 'desc');
  return (await rows.select<{ tm_create: Timestamp }[]>('tm_create')).map(row => row.tm_create);
};

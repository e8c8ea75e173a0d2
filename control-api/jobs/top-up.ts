import type { Log } from '#process/log';
import { fromDate } from '#contract/time';
import { lockAccount, topUp } from '../billing/ledger.ts';
import { queryOf } from '../billing/query.ts';
import type { Db } from '../db.ts';
import { Sweep } from './sweep.ts';

/**
 * Gives every account its monthly tokens that are due (accounts-and-plumbing 14.5), each by itself: one that cannot be
 * topped up is told, stays due, and holds up no other. Returns how many were.
 */
export const topUpAccounts = async (db: Db, log: Log, now = new Date()): Promise<number> => {
  const due = await db('billing_accounts')
    .where('tm_next_topup', '<=', fromDate(now))
    .whereNull('tm_delete')
    .select<{ id: string }[]>('id');
  let count = 0;
  const one = (id: string): Promise<boolean> =>
    db.transaction(async trx => {
      const query = queryOf(trx);
      return topUp(query, await lockAccount(query, id), now);
    });
  for (const { id } of due) {
    try {
      if (await one(id)) count += 1;
    } catch (error) {
      log.error({ err: error, billing_account_id: id }, 'an account was not topped up; tried again in an hour');
    }
  }
  return count;
};

/** Tops accounts up, every hour (31); one that is due stays so until it was. */
export const topUpSweep = (db: Db, log: Log): Sweep => {
  const work = async (): Promise<void> => {
    const accounts = await topUpAccounts(db, log);
    if (accounts > 0) log.info({ accounts }, 'accounts got the tokens of their month');
  };
  return new Sweep(work, 'accounts not topped up', log);
};

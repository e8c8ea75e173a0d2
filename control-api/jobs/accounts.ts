import { fromDate, timestamp } from '#contract/time';
import { endLive, OVER } from '../customers/end-live.ts';
import { removeCustomer } from '../customers/states.ts';
import { GRACE_MS } from '../http/gate.ts';
import type { Context } from '../http/context.ts';
import { tellCustomer } from '../resources/customer.ts';
import type { Row } from '../resources/resource.ts';
import { startNightly } from './nightly.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const UNVERIFIED_MS = 72 * HOUR_MS;
/** Long enough to tell an expired link from one nobody ever had. */
const LINKS_KEPT_MS = 7 * DAY_MS;
const LETTERS_KEPT_MS = 30 * DAY_MS;
/** When frozen accounts are looked at: 04:00 UTC (accounts-and-plumbing 31). */
const DELETION_HOUR = 4;

const before = (now: Date, milliseconds: number): string => fromDate(new Date(now.getTime() - milliseconds));

/** Accounts that nobody verified within 72 hours expire; they come back by verifying after all. Returns how many. */
export const expireUnverified = ({ db }: Context, now = new Date()): Promise<number> =>
  db.transaction(async trx => {
    const rows = await trx<Row>('customers')
      .where({ status: 'initial' })
      .where('tm_create', '<', before(now, UNVERIFIED_MS))
      .update({ status: 'expired', tm_update: timestamp() })
      .returning('*');
    for (const row of rows) await tellCustomer(trx, 'customer_updated', row, '');
    return rows.length;
  });

/** Deletes accounts that were frozen longer than 30 days. Returns how many. */
export const deleteFrozen = async (context: Context, now = new Date()): Promise<number> => {
  const rows = await context
    .db('customers')
    .where({ status: 'frozen' })
    .where('tm_deletion_scheduled', '<', before(now, GRACE_MS))
    .select<{ id: string }[]>('id');
  let count = 0;
  for (const { id: customer_id } of rows)
    try {
      // One that was recovered this very moment stays.
      await removeCustomer(context, customer_id, '', ['frozen', 'deleted']);
      count += 1;
    } catch (error) {
      // The next night tries again; the others are not to wait for this one.
      context.log.warn({ err: error, customer_id }, 'a frozen account was not deleted');
    }
  return count;
};

const UP = (table: 'calls' | 'conferences'): string => `exists (select from ${table}
  where ${table}.customer_id = customers.id and ${table}.data ->> 'status' <> ?)`;

/** Ends what accounts that may not have any more still have up: a crash between the commit and the order, a lost race. */
export const endLeftovers = async (context: Context): Promise<void> => {
  const rows = await context
    .db('customers')
    .whereRaw(`status in ('frozen', 'deleted') and ${UP('calls')}`, [OVER.call])
    .orWhereRaw(`status = 'deleted' and ${UP('conferences')}`, [OVER.conference])
    .select<{ id: string; status: string }[]>('id', 'status');
  for (const { id, status } of rows)
    await endLive(context, id, '', status === 'deleted' ? ['call', 'conference'] : ['call']);
};

/** Forgets links that expired a week ago and letters that were sent a month ago. */
export const forgetSpent = async ({ db }: Context, now = new Date()): Promise<void> => {
  await db('link_tokens').where('tm_expire', '<', before(now, LINKS_KEPT_MS)).delete();
  await db('mails').where('tm_sent', '<', before(now, LETTERS_KEPT_MS)).delete();
};

/** Runs the jobs of accounts: every 15 minutes, and once a day at 04:00 UTC (31). */
export const startAccountJobs = (context: Context): { stop(): void } => {
  const attempt = (name: string, work: () => Promise<unknown>): void => {
    // The next time tries again.
    work().catch((error: unknown) => context.log.warn({ err: error }, `${name} failed`));
  };
  const often = setInterval(() => {
    attempt('expiry of unverified accounts', () => expireUnverified(context));
    attempt('hang-up of calls left over', () => endLeftovers(context));
    attempt('removal of spent links and letters', () => forgetSpent(context));
  }, 15 * MINUTE_MS).unref();
  const nights = startNightly(DELETION_HOUR, at =>
    attempt('deletion of frozen accounts', () => deleteFrozen(context, at)),
  );
  return {
    stop: () => {
      clearInterval(often);
      nights.stop();
    },
  };
};

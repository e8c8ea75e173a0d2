import { type Limited, type PlanType, PLANS } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import type { Queryable, Transaction } from '../db.ts';
import { lockAccountOf } from './ledger.ts';
import { queryOf } from './query.ts';

/** Where the rows lie that a plan limits; rooms live elsewhere and are counted by who opens them. */
const COUNTED: Record<Exclude<Limited, 'conferences'>, { table: string; only?: Record<string, string> }> = {
  extensions: { table: 'extensions' },
  agents: { table: 'agents' },
  queues: { table: 'queues' },
  trunks: { table: 'trunks' },
  virtual_numbers: { table: 'numbers', only: { type: 'virtual' } },
};
export type LimitedRows = keyof typeof COUNTED;

/** What an account answers that has as many as its plan allows. */
export const planIsFull = (plan: PlanType, limited: Limited): PlatformError =>
  new PlatformError(
    'RESOURCE_LIMIT_EXCEEDED',
    `The plan ${plan} allows ${PLANS[plan][limited]} ${limited.replace('_', ' ')}.`,
  );

/** The plan of a customer; unlimited when it has no account, because then nothing says otherwise. */
export const planOf = async (db: Queryable, customerId: string): Promise<PlanType> => {
  const accounts = db('billing_accounts').join('customers', 'customers.billing_account_id', 'billing_accounts.id');
  const row = await accounts.where('customers.id', customerId).first<{ plan_type: PlanType } | undefined>('plan_type');
  return row?.plan_type ?? 'unlimited';
};

const countOf = async (db: Queryable, customer_id: string, limited: LimitedRows): Promise<number> => {
  const { table, only = {} } = COUNTED[limited];
  const rows = db(table)
    .where({ customer_id, ...only })
    .whereNull('tm_delete');
  return Number((await rows.count<{ n: number }[]>({ n: '*' }))[0]?.n ?? 0);
};

/** Rejects RESOURCE_LIMIT_EXCEEDED when a customer can have no further one (accounts-and-plumbing 14.5). */
export const mustHaveRoom = async (db: Queryable, customerId: string, limited: LimitedRows): Promise<void> => {
  const plan = await planOf(db, customerId);
  if ((await countOf(db, customerId, limited)) >= PLANS[plan][limited]) throw planIsFull(plan, limited);
};

/** The same after a row was added, in its transaction: of two that take the last place at once, one is refused. */
export const mustFit = async (trx: Transaction, customerId: string, limited: LimitedRows): Promise<void> => {
  const plan = (await lockAccountOf(queryOf(trx), customerId))?.plan_type ?? 'unlimited';
  if (PLANS[plan][limited] === Infinity) return;
  if ((await countOf(trx, customerId, limited)) > PLANS[plan][limited]) throw planIsFull(plan, limited);
};

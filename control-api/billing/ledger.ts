import { createHash } from 'node:crypto';
import {
  costOf,
  type CostType,
  type Funds,
  PLANS,
  type PlanType,
  type Rates,
  SYSTEM_CUSTOMER,
} from '#contract/billing';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import { fromDate, NEVER, timestamp, type Timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import { queryOf, type Query } from './query.ts';

/** What an entry of the ledger is about (accounts-and-plumbing 14.3); `reference_id` is the id of that. */
export const REFERENCE_TYPES = [
  '',
  'call',
  'call_extension',
  'sms',
  'email',
  'number',
  'number_renew',
  'speaking',
  'recording',
  'conferencecall',
  'aicall',
  'credit_free_tier',
  'monthly_allowance',
  'credit_adjustment',
  'token_adjustment',
] as const;
export type ReferenceType = (typeof REFERENCE_TYPES)[number];

export const TRANSACTION_TYPES = ['usage', 'top_up', 'adjustment', 'refund'] as const;
export const BILLING_STATUSES = ['progressing', 'end', 'pending', 'finished'] as const;

/** The thing that an entry is about. */
export interface Reference {
  reference_type: ReferenceType;
  reference_id: string;
}

/** An account that nobody else changes until the transaction ends. */
export interface Account extends Funds {
  id: string;
  tm_next_topup: Timestamp | null;
}

/** The most an account holds or owes: beyond it, micros are no exact numbers any more. */
const MOST_MICROS = 9e15;

/**
 * The key under which something is charged: the same thing has the same key, so that it is charged once, whoever reports
 * it again. `period` tells apart what is charged again and again (a UUID of our own making, RFC 9562 section 5.8).
 */
export const keyOf = ({ reference_type, reference_id }: Reference, period = ''): string => {
  const hex = createHash('sha256').update(`${reference_type} ${reference_id} ${period}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** The month a moment lies in, `2026-01`. */
export const monthOf = (moment: Timestamp): string => moment.slice(0, 7);

/** The first day of the month after, at midnight UTC (14.5). */
const nextMonth = (now: Date): Timestamp => fromDate(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)));

const ACCOUNT = `
  select a.id, a.customer_id, a.status, a.plan_type, a.balance_token::float8 as balance_token,
    a.balance_credit::float8 as balance_credit, a.tm_next_topup
  from billing_accounts a`;

/** Locks the account that a customer pays with; undefined when it has none. */
export const lockAccountOf = async (query: Query, customerId: string): Promise<Account | undefined> => {
  const own = `${ACCOUNT} where a.id = (select billing_account_id from customers where id = $1) for update`;
  const [account] = await query<Account>(own, [customerId]);
  return account;
};

/** Locks an account by its id. Rejects BILLING_ACCOUNT_NOT_FOUND. */
export const lockAccount = async (query: Query, id: string): Promise<Account> => {
  const [account] = await query<Account>(`${ACCOUNT} where a.id = $1 and a.tm_delete is null for update`, [id]);
  if (!account) throw new PlatformError('BILLING_ACCOUNT_NOT_FOUND', 'BillingAccount not found.');
  return account;
};

/** A change of balance, as its entry tells it. */
interface Posting extends Reference {
  transaction_type: (typeof TRANSACTION_TYPES)[number];
  cost_type?: CostType;
  billable_units?: number;
  rate_token_per_unit?: number;
  rate_credit_per_unit?: number;
  /** Signed. */
  amount_token: number;
  amount_credit: number;
  idempotency_key: string;
}

/** The balance moves and the entry says so, in one statement: neither is ever without the other. */
const POST = `
  with e as (
    select * from jsonb_to_record($1::jsonb) as e (id uuid, account_id uuid, transaction_type text, reference_type text,
      reference_id uuid, cost_type text, billable_units bigint, rate_token_per_unit bigint, rate_credit_per_unit bigint,
      amount_token bigint, amount_credit bigint, idempotency_key uuid, tm_create timestamptz)
  ), moved as (
    update billing_accounts a set balance_token = a.balance_token + e.amount_token,
      balance_credit = a.balance_credit + e.amount_credit, tm_update = e.tm_create
    from e where a.id = e.account_id
    returning a.customer_id, a.balance_token, a.balance_credit
  )
  insert into billings (id, customer_id, account_id, transaction_type, status, reference_type, reference_id, cost_type,
    billable_units, rate_token_per_unit, rate_credit_per_unit, amount_token, amount_credit, balance_token_snapshot,
    balance_credit_snapshot, idempotency_key, tm_billing_start, tm_billing_end, tm_create)
  select e.id, moved.customer_id, e.account_id, e.transaction_type, 'end', e.reference_type, e.reference_id, e.cost_type,
    e.billable_units, e.rate_token_per_unit, e.rate_credit_per_unit, e.amount_token, e.amount_credit, moved.balance_token,
    moved.balance_credit, e.idempotency_key, e.tm_create, e.tm_create, e.tm_create
  from e cross join moved`;

/** Writes an entry and moves the balance of a locked account; false when the same was written before. */
const post = async (query: Query, account: Account, posting: Posting): Promise<boolean> => {
  if (await isCharged(query, posting.idempotency_key)) return false;
  const credit = account.balance_credit + posting.amount_credit;
  if (Math.abs(credit) > MOST_MICROS) throw new PlatformError('INVALID_ARGUMENT', 'No account can hold so much.');
  const nothing = { cost_type: '', billable_units: 0, rate_token_per_unit: 0, rate_credit_per_unit: 0 };
  const own = { id: newId(), account_id: account.id, tm_create: timestamp() };
  await query(POST, [JSON.stringify({ ...nothing, ...posting, ...own })]);
  return true;
};

/** True when there is an entry with this key. Ask while the account is locked. */
export const isCharged = async (query: Query, key: string): Promise<boolean> =>
  (await query('select 1 from billings where idempotency_key = $1', [key])).length > 0;

/** Something that is charged at once. */
export interface Purchase extends Reference {
  cost_type: CostType;
  /** How many: the destinations of a message. */
  units?: number;
  /** The month of what is charged every month. */
  period?: string;
}

/**
 * Charges a locked account for something that is there at once: a message, an e-mail, a number (14.6). Nothing is refused
 * here; credit may become negative. False when it was charged before.
 */
export const charge = async (query: Query, rates: Rates, account: Account, what: Purchase): Promise<boolean> => {
  const { cost_type, reference_type, reference_id, units = 1, period = '' } = what;
  if (account.customer_id === SYSTEM_CUSTOMER) return false;
  const rate = rates[cost_type];
  const cost = costOf(units, rate, account.balance_token);
  return post(query, account, {
    transaction_type: 'usage',
    reference_type,
    reference_id,
    cost_type,
    billable_units: units,
    rate_token_per_unit: rate.token,
    rate_credit_per_unit: rate.credit,
    amount_token: 0 - cost.token,
    amount_credit: 0 - cost.credit,
    idempotency_key: keyOf({ reference_type, reference_id }, period),
  });
};

/** Adds micros to an account, or takes them when negative, by the word of an operator; once for one key (14.2). */
export const adjust = (query: Query, account: Account, micros: number, key: string): Promise<boolean> =>
  post(query, account, {
    transaction_type: 'adjustment',
    reference_type: 'credit_adjustment',
    reference_id: account.id,
    amount_token: 0,
    amount_credit: micros,
    idempotency_key: key,
  });

/** Sets the tokens of a locked account to what its plan gives (14.5); a plan without limit leaves them. */
export const setAllowance = async (query: Query, account: Account, plan: PlanType, key: string): Promise<boolean> => {
  const { tokens } = PLANS[plan];
  if (tokens === Infinity) return false;
  return post(query, account, {
    transaction_type: 'top_up',
    reference_type: 'monthly_allowance',
    reference_id: account.id,
    amount_token: tokens - account.balance_token,
    amount_credit: 0,
    idempotency_key: key,
  });
};

/** The next top-up of a plan; null when it has none. */
export const nextTopup = (plan: PlanType, now = new Date()): Timestamp | null =>
  PLANS[plan].tokens === Infinity ? null : nextMonth(now);

/** Tokens that every new account begins with (14.1). */
const FIRST_TOKENS = PLANS.free.tokens;

/**
 * Opens the account of a new customer (14.1); the customer's row names `id` already. Its first tokens are an entry too, so
 * that entries always sum up to the balance.
 */
export const openAccount = async (
  trx: Transaction,
  given: { id: string; customer_id: string; plan_type?: PlanType },
): Promise<void> => {
  const { id, customer_id, plan_type = 'free' } = given;
  const tm_next_topup = nextTopup(plan_type);
  await trx('billing_accounts').insert({ id, customer_id, plan_type, tm_next_topup, tm_create: timestamp() });
  const query = queryOf(trx);
  const account = await lockAccount(query, id);
  await post(query, account, {
    transaction_type: 'top_up',
    reference_type: 'monthly_allowance',
    reference_id: id,
    amount_token: FIRST_TOKENS,
    amount_credit: 0,
    idempotency_key: keyOf({ reference_type: 'monthly_allowance', reference_id: id }, 'first'),
  });
};

/** True when a moment has come. */
const isPast = (moment: Timestamp | null, now: Date): boolean =>
  moment !== null && moment !== NEVER && moment <= fromDate(now);

/** Gives a locked account its monthly tokens when they are due; false when they are not (any more). */
export const topUp = async (query: Query, account: Account, now: Date): Promise<boolean> => {
  const due = account.tm_next_topup;
  if (due === null || !isPast(due, now)) return false;
  const reference = { reference_type: 'monthly_allowance', reference_id: account.id } as const;
  const set = await setAllowance(query, account, account.plan_type, keyOf(reference, due));
  const times = [account.id, set ? fromDate(now) : null, nextTopup(account.plan_type, now)];
  const note = `update billing_accounts set tm_last_topup = coalesce($2::timestamptz, tm_last_topup), tm_next_topup = $3
    where id = $1`;
  await query(note, times);
  return set;
};

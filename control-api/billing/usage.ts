import { type CostType, costOf, minutesOf, type Rates, secondsBetween, SYSTEM_CUSTOMER } from '#contract/billing';
import { newId } from '#contract/ids';
import { timestamp, toMillis, type Timestamp } from '#contract/time';
import { keyOf, type Reference } from './ledger.ts';
import type { Query } from './query.ts';

/** Something that is charged by the minute, from when it starts to when it ends. */
export interface Usage extends Reference {
  customer_id: string;
  cost_type: CostType;
  tm_start: Timestamp;
}

const START = `
  insert into billings (id, customer_id, account_id, transaction_type, status, reference_type, reference_id, cost_type,
    rate_token_per_unit, rate_credit_per_unit, balance_token_snapshot, balance_credit_snapshot, idempotency_key,
    tm_billing_start, tm_create)
  select u.id, u.customer_id, a.id, 'usage', 'progressing', u.reference_type, u.reference_id, u.cost_type,
    u.rate_token_per_unit, u.rate_credit_per_unit, a.balance_token, a.balance_credit, u.idempotency_key,
    u.tm_start, u.tm_create
  from jsonb_to_record($1::jsonb) as u (id uuid, customer_id uuid, reference_type text, reference_id uuid, cost_type text,
    rate_token_per_unit bigint, rate_credit_per_unit bigint, idempotency_key uuid, tm_start timestamptz,
    tm_create timestamptz)
  join customers c on c.id = u.customer_id
  join billing_accounts a on a.id = c.billing_account_id
  on conflict (idempotency_key) do nothing`;

/** Notes that something chargeable began, at the rates of now. Nothing happens when it is noted already (14.3). */
export const startUsage = async (query: Query, rates: Rates, usage: Usage): Promise<void> => {
  if (usage.customer_id === SYSTEM_CUSTOMER) return;
  const { token, credit } = rates[usage.cost_type];
  const own = { id: newId(), idempotency_key: keyOf(usage), tm_create: timestamp() };
  const rate = { rate_token_per_unit: token, rate_credit_per_unit: credit };
  await query(START, [JSON.stringify({ ...usage, ...own, ...rate })]);
};

/** An entry that is still open, with the balance of its account. */
interface Open {
  id: string;
  account_id: string;
  tm_billing_start: string;
  token: number;
  credit: number;
  balance_token: number;
}

const LOCK = `
  select b.id, b.account_id, b.rate_token_per_unit::float8 as token, b.rate_credit_per_unit::float8 as credit,
    to_char(b.tm_billing_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as tm_billing_start,
    a.balance_token::float8 as balance_token
  from billings b join billing_accounts a on a.id = b.account_id
  where b.idempotency_key = $1 and b.status = 'progressing'
  for update`;

const END = `
  with e as (
    select * from jsonb_to_record($1::jsonb) as e (id uuid, account_id uuid, seconds bigint, units bigint, token bigint,
      credit bigint, tm_end timestamptz, tm_update timestamptz)
  ), moved as (
    update billing_accounts a set balance_token = a.balance_token - e.token,
      balance_credit = a.balance_credit - e.credit, tm_update = e.tm_update
    from e where a.id = e.account_id
    returning a.balance_token, a.balance_credit
  )
  update billings b set status = 'end', usage_duration = e.seconds, billable_units = e.units, amount_token = 0 - e.token,
    amount_credit = 0 - e.credit, balance_token_snapshot = moved.balance_token,
    balance_credit_snapshot = moved.balance_credit, tm_billing_end = e.tm_end, tm_update = e.tm_update
  from e cross join moved where b.id = e.id`;

/** Charges for something that ended, by its started minutes; once, and only when it had begun. */
export const endUsage = async (query: Query, reference: Reference, tm_end: Timestamp): Promise<void> => {
  const [open] = await query<Open>(LOCK, [keyOf(reference)]);
  if (!open) return;
  const { id, account_id, tm_billing_start, token, credit, balance_token } = open;
  const seconds = secondsBetween(toMillis(tm_billing_start), toMillis(tm_end));
  const units = minutesOf(seconds);
  const cost = costOf(units, { token, credit }, balance_token);
  await query(END, [JSON.stringify({ id, account_id, seconds, units, ...cost, tm_end, tm_update: timestamp() })]);
};

import type { Transaction } from '../db.ts';

const TIMES = `
  tm_create timestamptz not null,
  tm_update timestamptz,
  tm_delete timestamptz`;

const ACCOUNTS = `
create table billing_accounts (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  name text not null default 'basic billing account',
  detail text not null default '',
  status text not null default 'active' check (status in ('active', 'frozen', 'deleted')),
  plan_type text not null default 'free' check (plan_type in ('free', 'basic', 'professional', 'unlimited')),
  plan_status text not null default 'active' check (plan_status in ('active', 'canceling')),
  balance_credit bigint not null default 0,
  balance_token bigint not null default 0 check (balance_token >= 0),
  payment_type text not null default 'prepaid' check (payment_type in ('', 'prepaid')),
  payment_method text not null default '' check (payment_method in ('', 'credit card')),
  tm_last_topup timestamptz,
  tm_next_topup timestamptz,${TIMES}
);
create index billing_accounts_customer on billing_accounts (customer_id, tm_create desc);
create index billing_accounts_topup on billing_accounts (tm_next_topup) where tm_delete is null;`;

/**
 * The ledger. Its customer is no foreign key: whoever charges holds the account, and would wait there for whoever holds the
 * customer and wants the account. The idempotency key follows from what is charged, so that it is charged once.
 */
const BILLINGS = `
create table billings (
  id uuid primary key,
  customer_id uuid not null,
  account_id uuid not null references billing_accounts (id),
  transaction_type text not null check (transaction_type in ('usage', 'top_up', 'adjustment', 'refund')),
  status text not null check (status in ('progressing', 'end', 'pending', 'finished')),
  reference_type text not null,
  reference_id uuid not null,
  cost_type text not null,
  usage_duration bigint not null default 0,
  billable_units bigint not null default 0,
  rate_token_per_unit bigint not null default 0,
  rate_credit_per_unit bigint not null default 0,
  amount_token bigint not null default 0,
  amount_credit bigint not null default 0,
  balance_token_snapshot bigint not null,
  balance_credit_snapshot bigint not null,
  idempotency_key uuid not null unique,
  tm_billing_start timestamptz,
  tm_billing_end timestamptz,${TIMES}
);
create index billings_customer on billings (customer_id, tm_create desc);
create index billings_reference on billings (reference_id);`;

/** Customers from before have an account as well; the first of them is the operator's (billing/ledger.ts, openAccount). */
const OPEN = `
insert into billing_accounts (id, customer_id, plan_type, balance_token, tm_next_topup, tm_create)
select gen_random_uuid(), id, case when home then 'unlimited' else 'free' end, 100,
  case when home then null else date_trunc('month', now() at time zone 'UTC' + interval '1 month') at time zone 'UTC' end,
  now()
from customers where tm_delete is null;
update customers c set billing_account_id = a.id from billing_accounts a where a.customer_id = c.id;
insert into billings (id, customer_id, account_id, transaction_type, status, reference_type, reference_id, cost_type,
  amount_token, balance_token_snapshot, balance_credit_snapshot, idempotency_key, tm_create)
select gen_random_uuid(), customer_id, id, 'top_up', 'end', 'monthly_allowance', id, '', 100, 100, 0, gen_random_uuid(), now()
from billing_accounts;`;

/** Billing accounts and their ledger (accounts-and-plumbing 14). */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(ACCOUNTS);
  await trx.raw(BILLINGS);
  await trx.raw(OPEN);
};

import { canPay, type Funds, type Operation, type Rates } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import type { Queryable } from '../db.ts';

const FUNDS = `
  select s.customer_id, a.status, a.plan_type, a.balance_token, a.balance_credit
  from (select ?::uuid as customer_id) s
  left join customers c on c.id = s.customer_id left join billing_accounts a on a.id = c.billing_account_id`;

/** What a refused operation is answered with. */
const tooLittle = (): PlatformError =>
  new PlatformError('INSUFFICIENT_BALANCE', 'The balance of the billing account is too low for this.');

/** Rejects INSUFFICIENT_BALANCE unless a customer can pay an operation (accounts-and-plumbing 14.7). */
export const mustPay = async (
  db: Queryable,
  rates: Rates,
  customerId: string,
  operation: Operation,
  units = 1,
): Promise<void> => {
  const { rows } = await db.raw<{ rows: Funds[] }>(FUNDS, [customerId]);
  if (!rows.some(funds => canPay(funds, operation, rates, units))) throw tooLittle();
};

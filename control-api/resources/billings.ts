import { z } from 'zod';
import { COST_TYPES } from '#contract/billing';
import { NEVER } from '#contract/time';
import { BILLING_STATUSES, REFERENCE_TYPES, TRANSACTION_TYPES } from '../billing/ledger.ts';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { byId, byWord } from './filters.ts';
import { defineResource } from './resource.ts';

const count = (what: string) => z.int().describe(what);

/** The ledger: what an account was charged and given (accounts-and-plumbing 14.3). Nobody writes it through the API. */
export const billings = defineResource({
  name: 'billing',
  title: 'Billing',
  path: '/billings',
  table: 'billings',
  not_found: 'BILLING_NOT_FOUND',
  read: 'admin',
  write: 'admin',
  unset: NEVER,
  told: false,
  fields: {},
  changeable: [],
  filters: {
    account_id: byId('Only those of this account.'),
    transaction_type: byWord(TRANSACTION_TYPES, 'Only those of this type.'),
    status: byWord(BILLING_STATUSES, 'Only those with this status.'),
    reference_type: byWord(REFERENCE_TYPES, 'Only those about such things.'),
    reference_id: byId('Only those about this call, recording, number, …'),
    cost_type: byWord(COST_TYPES, 'Only those charged as this.'),
  },
  shown: {
    account_id: z.uuid().describe('The account that pays.'),
    transaction_type: z.enum(TRANSACTION_TYPES),
    status: z.enum(BILLING_STATUSES).describe('progressing while what it charges goes on; end when it is final.'),
    reference_type: z.enum(REFERENCE_TYPES),
    reference_id: z.uuid().describe('The call, recording, number, …'),
    cost_type: z.enum(['', ...COST_TYPES]).describe('What it is charged as; empty when nothing was used.'),
    usage_duration: count('Seconds, begun ones whole.'),
    billable_units: count('Started minutes, or how many.'),
    rate_token_per_unit: count('Tokens a unit.'),
    rate_credit_per_unit: count('Millionths of a US dollar a unit.'),
    amount_token: count('Tokens given, or taken when negative.'),
    amount_credit: count('Millionths of a US dollar given, or taken when negative.'),
    balance_token_snapshot: count('Tokens of the account after this.'),
    balance_credit_snapshot: count('Credit of the account after this.'),
    idempotency_key: z.uuid().describe('Of what is charged: nothing is charged twice under one key.'),
    tm_billing_start: z.string(),
    tm_billing_end: z.string(),
  },
});

const { list, get } = crud(billings);
export const billingRoutes: Route[] = [list, get];

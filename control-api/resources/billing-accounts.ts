import { z } from 'zod';
import { ACCOUNT_STATUSES, PLAN_TYPES, type PlanType, USD } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import { NEVER } from '#contract/time';
import { type Account, adjust, lockAccount, nextTopup, setAllowance } from '../billing/ledger.ts';
import { type Query, queryOf } from '../billing/query.ts';
import type { Queryable, Transaction } from '../db.ts';
import { pageFrom, pageOf, pageQuery } from '../http/pagination.ts';
import { isSuperAdmin, type Permission } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { idParams, scopeOf } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { changesOf, defineResource, render, type Row } from './resource.ts';
import { type More, Store } from './store.ts';

const words = { name: nameField, detail: detailField };
const payment = {
  payment_type: z.enum(['', 'prepaid']).describe('How it is paid.'),
  payment_method: z.enum(['', 'credit card']).describe('What it is paid with.'),
};

/** What a customer pays with (accounts-and-plumbing 14.1). Money is whole millionths of a US dollar. */
export const billingAccounts = defineResource({
  name: 'billing_account',
  title: 'BillingAccount',
  path: '/billing_accounts',
  table: 'billing_accounts',
  not_found: 'BILLING_ACCOUNT_NOT_FOUND',
  read: 'admin',
  write: 'admin',
  unset: NEVER,
  told: false,
  fields: { ...words, ...payment },
  changeable: ['name', 'detail', 'payment_type', 'payment_method'],
  shown: {
    plan_type: z.enum(PLAN_TYPES).describe('What it may have, and how many tokens it gets a month.'),
    plan_status: z.enum(['active', 'canceling']),
    balance_credit: z.int().describe('Millionths of a US dollar; may be negative.'),
    balance_token: z.int().describe('What is left of the allowance of this month.'),
    tm_last_topup: z.string().describe('When tokens were last given.'),
    tm_next_topup: z.string().describe('When they are given again; never for unlimited plans.'),
  },
});
const { schema } = billingAccounts;

/** As super admins see it. */
const adminSchema: z.ZodObject = z
  .object({
    ...schema.shape,
    status: z.enum(ACCOUNT_STATUSES).optional().describe('Shown to super admins; only active ones pay for anything.'),
  })
  .meta({ id: 'BillingAccountAdmin' });

const showTo = ({ identity }: RouteRequest, row: Row): Record<string, unknown> => ({
  ...render(billingAccounts, row),
  ...(isSuperAdmin(identity) ? { status: row['status'] } : {}),
});

/** The id of the account that the caller's customer pays with. Rejects BILLING_ACCOUNT_NOT_FOUND. */
const ownId = async ({ context, identity }: RouteRequest): Promise<string> => {
  const accounts = context
    .db('billing_accounts')
    .join('customers', 'customers.billing_account_id', 'billing_accounts.id');
  const row = await accounts
    .where('customers.id', identity.customer_id)
    .whereNull('billing_accounts.tm_delete')
    .first<{ id: string } | undefined>('billing_accounts.id');
  if (row) return row.id;
  throw new PlatformError('BILLING_ACCOUNT_NOT_FOUND', 'BillingAccount not found.');
};

const storeOf = ({ context }: RouteRequest): Store => new Store(billingAccounts, context.db);

const getOwn = defineRoute({
  method: 'get',
  path: '/billing_account',
  operation_id: 'get_own_billing_account',
  summary: 'Get the billing account of the own account',
  tag: billingAccounts.title,
  permission: 'admin',
  response: schema,
  reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
  handle: async request => render(billingAccounts, await storeOf(request).get(scopeOf(request), await ownId(request))),
});

/** PUT of some fields of the own account. */
const putOwn = (path: string, name: string, summary: string, fields: z.ZodRawShape): Route =>
  defineRoute({
    method: 'put',
    path: `/billing_account${path}`,
    operation_id: `update_own_billing_account${name}`,
    summary,
    tag: billingAccounts.title,
    permission: 'admin',
    body: changesOf(fields, Object.keys(fields)),
    response: schema,
    reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
    async handle(request) {
      const id = await ownId(request);
      return render(billingAccounts, await storeOf(request).update(scopeOf(request), id, request.body));
    },
  });

/** The specification spells the collection in two ways; both are served (14.2). */
interface Collection {
  path: string;
  /** What the ids of its operations end with. */
  suffix: string;
  /** Customer admins look at their own account here. */
  read: Exclude<Permission, 'public'>;
  add: string;
  subtract: string;
}
const COLLECTIONS: Collection[] = [
  {
    path: '/billing_accounts',
    suffix: '',
    read: 'super',
    add: 'balance_add_force',
    subtract: 'balance_subtract_force',
  },
  { path: '/billing-accounts', suffix: '_hyphen', read: 'admin', add: 'balance-add', subtract: 'balance-subtract' },
];

const listOf = ({ path, suffix, read }: Collection): Route =>
  defineRoute({
    method: 'get',
    path,
    operation_id: `list_billing_accounts${suffix}`,
    summary: read === 'super' ? 'List the billing accounts of everybody' : 'List billing accounts: the own one',
    tag: billingAccounts.title,
    permission: read,
    query: pageQuery,
    response: pageOf(adminSchema),
    async handle(request) {
      const { query, identity, context } = request;
      const store = new Store({ ...billingAccounts, tenancy: isSuperAdmin(identity) ? 'any' : 'own' }, context.db);
      const { result, next_page_token } = pageFrom(await store.list(scopeOf(request), query), query);
      return { result: result.map(row => showTo(request, row)), next_page_token };
    },
  });

const getOf = ({ path, suffix, read }: Collection): Route =>
  defineRoute({
    method: 'get',
    path: `${path}/{id}`,
    operation_id: `get_billing_account${suffix}`,
    summary: 'Get one billing account',
    tag: billingAccounts.title,
    permission: read,
    params: idParams,
    response: adminSchema,
    reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
    handle: async request => showTo(request, await storeOf(request).get(scopeOf(request), request.params.id)),
  });

/** Changes a balance or a plan in the transaction that writes the account; the row is then as that left it. */
const moving =
  (move: (query: Query, account: Account, trx: Transaction) => Promise<unknown>): NonNullable<More['before']> =>
  async (trx, { id }) => {
    const query = queryOf(trx);
    await move(query, await lockAccount(query, id), trx);
    return trx<Row>('billing_accounts').where({ id }).first();
  };

/** Puts an account on another plan, whose tokens it has at once. */
const onPlan = (plan: PlanType) =>
  moving(async (query, account, trx) => {
    if (account.plan_type === plan) return;
    const tm_next_topup = nextTopup(plan);
    await trx('billing_accounts').where('id', account.id).update({ plan_type: plan, tm_next_topup });
    await setAllowance(query, account, plan, newId());
  });

const planField = { plan_type: z.enum(PLAN_TYPES).describe('Its tokens are given at once.') };
const putOf = ({ path, suffix }: Collection): Route =>
  defineRoute({
    method: 'put',
    path: `${path}/{id}`,
    operation_id: `update_billing_account${suffix}`,
    summary: 'Change one billing account or its plan; what is left out stays as it is',
    tag: billingAccounts.title,
    permission: 'super',
    params: idParams,
    body: changesOf({ ...words, ...planField }, [...Object.keys(words), 'plan_type']),
    response: adminSchema,
    reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
    async handle(request) {
      const { plan_type, ...values } = request.body as { plan_type?: PlanType };
      const more = plan_type === undefined ? {} : { before: onPlan(plan_type) };
      return showTo(request, await storeOf(request).update(scopeOf(request), request.params.id, values, more));
    },
  });

const putPaymentOf = ({ path, suffix }: Collection): Route =>
  defineRoute({
    method: 'put',
    path: `${path}/{id}/payment_info`,
    operation_id: `update_billing_account_payment_info${suffix}`,
    summary: 'Change how one billing account is paid',
    tag: billingAccounts.title,
    permission: 'super',
    params: idParams,
    body: changesOf(payment, Object.keys(payment)),
    response: adminSchema,
    reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
    handle: async request =>
      showTo(request, await storeOf(request).update(scopeOf(request), request.params.id, request.body)),
  });

/** The most that is added or taken at once, in US dollars. */
const MOST_USD = 1_000_000_000;
const amountBody = z.object({
  balance: z.number().min(0).max(MOST_USD).describe('US dollars; rounded to a millionth.'),
});

/** POST that moves credit: `sign` 1 adds, -1 takes. Taking goes below zero, as charges do. */
const moveOf = ({ path, suffix }: Collection, verb: 'add' | 'subtract', spelling: string): Route =>
  defineRoute({
    method: 'post',
    path: `${path}/{id}/${spelling}`,
    operation_id: `${verb}_billing_account_balance${suffix}`,
    summary: verb === 'add' ? 'Add credit to one billing account' : 'Take credit from one billing account',
    tag: billingAccounts.title,
    permission: 'super',
    params: idParams,
    body: amountBody,
    response: adminSchema,
    reasons: ['BILLING_ACCOUNT_NOT_FOUND'],
    async handle(request) {
      const { params, body, fresh_id = newId() } = request;
      const micros = Math.round(body.balance * USD) * (verb === 'add' ? 1 : -1);
      const before = moving((query, account) => adjust(query, account, micros, fresh_id));
      return showTo(request, await storeOf(request).update(scopeOf(request), params.id, {}, { before }));
    },
  });

/** Rejects BILLING_ACCOUNT_NOT_FOUND unless an account is live and of this customer (accounts-and-plumbing 6.3). */
export const mustBeAccountOf = async (db: Queryable, customer_id: string, id: string): Promise<void> => {
  if (await db('billing_accounts').where({ id, customer_id }).whereNull('tm_delete').first('id')) return;
  throw new PlatformError('BILLING_ACCOUNT_NOT_FOUND', 'BillingAccount not found.');
};

export const billingAccountRoutes: Route[] = [
  getOwn,
  putOwn('', '', 'Change the billing account of the own account', words),
  putOwn('/payment_info', '_payment_info', 'Change how the own account is paid', payment),
  ...COLLECTIONS.flatMap(collection => [
    listOf(collection),
    getOf(collection),
    putOf(collection),
    putPaymentOf(collection),
    moveOf(collection, 'add', collection.add),
    moveOf(collection, 'subtract', collection.subtract),
  ]),
];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import { postPasswordLink } from '../auth/links.ts';
import { openCustomer } from '../customers/open.ts';
import { freezeCustomer, recoverCustomer, removeCustomer } from '../customers/states.ts';
import { isDuplicate, type Queryable, type Transaction } from '../db.ts';
import type { Context } from '../http/context.ts';
import { pageFrom, pageOf, pageQuery } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { mustBeAccountOf } from './billing-accounts.ts';
import { idParams } from './crud.ts';
import {
  billingAccountChoice,
  customerFields,
  metadataSchema,
  publicCustomerSchema,
  showCustomer,
  tellCustomer,
} from './customer.ts';
import { changesOf, type Row } from './resource.ts';

/** The account as super admins see it (accounts-and-plumbing 9.1). */
const schema = publicCustomerSchema
  .extend({
    terms_agreed_version: z.string().describe('Which terms its people agreed to; empty when a super admin made it.'),
    terms_agreed_ip: z.string().describe('From where.'),
  })
  .meta({ id: 'CustomerAdmin', description: 'The account, as super admins see it.' });

const IDENTITY_STATUSES = ['none', 'pending', 'verified', 'rejected'] as const;

const show = (row: Row): z.input<typeof schema> => ({
  ...showCustomer(row),
  terms_agreed_version: String(row['terms_agreed_version']),
  terms_agreed_ip: String(row['terms_agreed_ip']),
});

const missing = (): PlatformError => new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');

/** A customer in whatever state: deleted ones answer too, because deleting twice is no error. Rejects CUSTOMER_NOT_FOUND. */
export const findCustomer = async (db: Queryable, id: string): Promise<Row> => {
  const row = await db<Row>('customers').where({ id }).first();
  if (!row) throw missing();
  return row;
};

/** The one that the first start made is who runs this installation; without it nobody could sign in any more. */
const mustNotBeHome = (row: Row): void => {
  if (row['home'] === true)
    throw new PlatformError('STATE_INVALID', 'This account runs the installation and stays as it is.');
};

const emailTaken = (error: unknown): never => {
  if (isDuplicate(error)) throw new PlatformError('ALREADY_EXISTS', 'An account or an agent has this e-mail address.');
  throw error;
};

/** What all these routes have in common. */
const facts = { tag: 'Customer', permission: 'super', response: schema } as const;
const one = { ...facts, params: idParams } as const;

const list = defineRoute({
  ...facts,
  method: 'get',
  path: '/customers',
  operation_id: 'list_customers',
  summary: 'List customers, newest first',
  query: pageQuery,
  response: pageOf(schema),
  async handle({ context, query }) {
    const rows: Row[] = await context
      .db<Row>('customers')
      .whereNull('tm_delete')
      .where('tm_create', '<', query.page_token ?? timestamp())
      .orderBy('tm_create', 'desc')
      .limit(query.page_size + 1);
    const { result, next_page_token } = pageFrom(rows, query);
    return { result: result.map(show), next_page_token };
  },
});

const create = defineRoute({
  ...facts,
  method: 'post',
  path: '/customers',
  operation_id: 'create_customer',
  summary: 'Open an account for somebody, who is sent a link to choose a password',
  body: z.object({
    ...customerFields,
    phone_number: customerFields.phone_number.default(''),
    address: customerFields.address.default(''),
    webhook_method: customerFields.webhook_method.default(''),
    webhook_uri: customerFields.webhook_uri.default(''),
  }),
  reasons: ['ALREADY_EXISTS', 'INVALID_WEBHOOK_METHOD', 'INVALID_WEBHOOK_URI'],
  async handle({ context, body, request_id, fresh_id }) {
    const id = fresh_id === undefined ? {} : { id: fresh_id };
    const values = { ...body, ...id, status: 'active', email_verified: true };
    const opened = context.db.transaction(async trx => {
      const { customer, admin } = await openCustomer(trx, values, request_id);
      await postPasswordLink(trx, context, admin, 'welcome');
      return customer;
    });
    const customer = await opened.catch(emailTaken);
    context.mail.wake();
    return show(customer);
  },
});

const get = defineRoute({
  ...one,
  method: 'get',
  path: '/customers/{id}',
  operation_id: 'get_customer_by_id',
  summary: 'Get one customer',
  reasons: ['CUSTOMER_NOT_FOUND'],
  handle: async ({ context, params }) => show(await findCustomer(context.db, params.id)),
});

interface Told {
  event_type?: 'customer_updated' | 'customer_identity_verification_updated';
  request_id: string;
  /** Rejects what must not be; nothing is changed then. */
  check?: (trx: Transaction) => Promise<void>;
}

const change = (
  context: Context,
  id: string,
  values: Record<string, unknown>,
  { event_type, request_id, check }: Told,
) =>
  context.db
    .transaction(async (trx: Transaction) => {
      const rows = trx<Row>('customers').where({ id }).whereNull('tm_delete');
      const [row] = await rows.update({ ...values, tm_update: timestamp() }).returning('*');
      if (!row) throw missing();
      await check?.(trx);
      await tellCustomer(trx, event_type ?? 'customer_updated', row, request_id);
      return show(row);
    })
    .catch(emailTaken);

const update = defineRoute({
  ...one,
  method: 'put',
  path: '/customers/{id}',
  operation_id: 'update_customer_by_id',
  summary: 'Change one customer; what is left out stays as it is',
  body: changesOf(customerFields, Object.keys(customerFields)),
  reasons: ['CUSTOMER_NOT_FOUND', 'ALREADY_EXISTS', 'INVALID_WEBHOOK_METHOD', 'INVALID_WEBHOOK_URI'],
  handle: ({ context, params, body, request_id }) => change(context, params.id, body, { request_id }),
});

const updateMetadata = defineRoute({
  ...one,
  method: 'put',
  path: '/customers/{id}/metadata',
  operation_id: 'update_customer_metadata_by_id',
  summary: 'Change the switches of one customer',
  body: metadataSchema,
  reasons: ['CUSTOMER_NOT_FOUND'],
  handle: ({ context, params, body, request_id }) =>
    change(context, params.id, { metadata: JSON.stringify(body) }, { request_id }),
});

const updateBillingAccount = defineRoute({
  ...one,
  method: 'put',
  path: '/customers/{id}/billing_account_id',
  operation_id: 'update_customer_billing_account_id_by_id',
  summary: 'Choose the billing account that one customer pays with; it must be its own',
  body: billingAccountChoice,
  reasons: ['CUSTOMER_NOT_FOUND', 'BILLING_ACCOUNT_NOT_FOUND'],
  handle: ({ context, params, body, request_id }) =>
    change(context, params.id, body, {
      request_id,
      check: trx => mustBeAccountOf(trx, params.id, body.billing_account_id),
    }),
});

const verify = defineRoute({
  ...one,
  method: 'put',
  path: '/customers/{id}/identity_verification_status',
  operation_id: 'update_customer_identity_verification_status',
  summary: 'Say whether the identity of one customer is proved; normal numbers and telephone calls need `verified`',
  body: z.object({ identity_verification_status: z.enum(IDENTITY_STATUSES) }),
  reasons: ['CUSTOMER_NOT_FOUND'],
  handle: ({ context, params, body, request_id }) =>
    change(context, params.id, body, { event_type: 'customer_identity_verification_updated', request_id }),
});

const remove = defineRoute({
  ...one,
  method: 'delete',
  path: '/customers/{id}',
  operation_id: 'delete_customer',
  summary: 'Delete one customer and all it has, at once and for good; twice is no error',
  reasons: ['CUSTOMER_NOT_FOUND', 'STATE_INVALID'],
  async handle({ context, params, request_id }) {
    mustNotBeHome(await findCustomer(context.db, params.id));
    return show(await removeCustomer(context, params.id, request_id));
  },
});

const freeze = defineRoute({
  ...one,
  method: 'post',
  path: '/customers/{id}/freeze',
  operation_id: 'freeze_customer',
  summary: 'Freeze one customer: calls end, and in 30 days it is deleted',
  reasons: ['CUSTOMER_NOT_FOUND', 'STATE_INVALID'],
  async handle({ context, params, request_id }) {
    mustNotBeHome(await findCustomer(context.db, params.id));
    return show(await freezeCustomer(context, params.id, request_id));
  },
});

const recover = defineRoute({
  ...one,
  method: 'post',
  path: '/customers/{id}/recover',
  operation_id: 'recover_customer',
  summary: 'Take the deletion of one frozen customer back',
  reasons: ['CUSTOMER_NOT_FOUND', 'STATE_INVALID'],
  handle: async ({ context, params, request_id }) => show(await recoverCustomer(context, params.id, request_id)),
});

/** Accounts, for super admins (accounts-and-plumbing 9.2). */
export const customersRoutes: Route[] = [
  ...[list, create, get, update, updateMetadata, updateBillingAccount, verify],
  ...[remove, freeze, recover],
];

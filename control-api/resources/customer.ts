import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import type { StoredEventType } from '#contract/events';
import { NEVER, timestamp } from '#contract/time';
import { isDuplicate, type Queryable, type Transaction } from '../db.ts';
import { appendEvent } from '../events/log.ts';
import { CUSTOMER_STATUSES } from '../http/authenticate.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { mustBeAccountOf } from './billing-accounts.ts';
import { detailField, nameField, webhookMethod, webhookUri } from './fields.ts';
import { changesOf, render, type Row } from './resource.ts';

/** What a customer writes about itself. */
export const customerFields = {
  name: nameField,
  detail: detailField,
  email: z.email('must be an e-mail address').max(255).describe('Unique among customers.'),
  phone_number: z.string().max(255).describe('Free text.'),
  address: z.string().max(1024).describe('Free text.'),
  webhook_method: webhookMethod,
  webhook_uri: webhookUri,
};

/** The account as its own people see it (accounts-and-plumbing 9.1). Events tell it without the secret. */
const schema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    detail: z.string(),
    email: z.string(),
    phone_number: z.string(),
    address: z.string(),
    webhook_method: webhookMethod,
    webhook_uri: z.string().describe('Every event of the account is sent there; empty: nowhere.'),
    webhook_secret: z.string().describe('Signs webhooks: X-Webhook-Signature.'),
    billing_account_id: z.uuid(),
    metadata: z.object({ rtp_debug: z.boolean() }),
    email_verified: z.boolean(),
    status: z.enum(CUSTOMER_STATUSES),
    identity_verification_status: z.enum(['none', 'pending', 'verified', 'rejected']),
    tm_deletion_scheduled: z.string().nullable().describe('Set while frozen.'),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Customer', description: 'The account.' });

const show = (row: Row): z.input<typeof schema> =>
  ({
    ...render({ schema, unset: NEVER }, row),
    tm_deletion_scheduled: row['tm_deletion_scheduled'],
  }) as z.input<typeof schema>;

const found = (row: Row | undefined): Row => {
  if (row) return row;
  throw new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');
};

/** The account as events and public answers tell it: without the secret. */
export const publicCustomerSchema = schema
  .omit({ webhook_secret: true })
  .meta({ id: 'CustomerPublic', description: 'The account, without its secret.' });

/** A row as `publicCustomerSchema` has it. */
export const showCustomer = (row: Row): z.input<typeof publicCustomerSchema> => {
  const { webhook_secret: _secret, ...data } = show(row);
  return data;
};

type CustomerEvent = Extract<StoredEventType, `customer_${string}`>;

/** Appends an event of a customer, in the transaction that changes its row. */
export const tellCustomer = async (
  trx: Transaction,
  event_type: CustomerEvent,
  row: Row,
  request_id: string,
): Promise<void> => {
  const { id } = row;
  const event = { event_type, resource: 'customer', customer_id: id, resource_id: id };
  await appendEvent(trx, { ...event, data: showCustomer(row), request_id });
};

const rowsOf = (db: Queryable, customerId: string) =>
  db<Row>('customers').where('id', customerId).whereNull('tm_delete');

const get = defineRoute({
  method: 'get',
  path: '/customer',
  operation_id: 'get_customer',
  summary: 'Get the own account',
  tag: 'Customer',
  permission: 'manager',
  response: schema,
  reasons: ['CUSTOMER_NOT_FOUND'],
  handle: async ({ context, identity }) => show(found(await rowsOf(context.db, identity.customer_id).first())),
});

const update = defineRoute({
  method: 'put',
  path: '/customer',
  operation_id: 'update_customer',
  summary: 'Change the own account; what is left out stays as it is',
  tag: 'Customer',
  permission: 'admin',
  body: changesOf(customerFields, Object.keys(customerFields)),
  response: schema,
  reasons: ['CUSTOMER_NOT_FOUND', 'INVALID_WEBHOOK_METHOD', 'INVALID_WEBHOOK_URI', 'ALREADY_EXISTS'],
  async handle({ context, identity, body, request_id }) {
    const change = context.db.transaction(async trx => {
      const changed = rowsOf(trx, identity.customer_id).update({ ...body, tm_update: timestamp() });
      const [row] = await changed.returning('*');
      await tellCustomer(trx, 'customer_updated', found(row), request_id);
      return show(found(row));
    });
    return change.catch((error: unknown) => {
      if (isDuplicate(error)) throw new PlatformError('ALREADY_EXISTS', 'Another account has this e-mail address.');
      throw error;
    });
  },
});

/** The switches of an account. */
export const metadataSchema = z.object({
  rtp_debug: z.boolean().describe('Whether the audio of calls is looked at closely.'),
});

const updateMetadata = defineRoute({
  method: 'put',
  path: '/customer/metadata',
  operation_id: 'update_customer_metadata',
  summary: 'Change the switches of the own account',
  tag: 'Customer',
  permission: 'admin',
  body: metadataSchema,
  response: schema,
  reasons: ['CUSTOMER_NOT_FOUND'],
  handle: ({ context, identity, body, request_id }) =>
    context.db.transaction(async trx => {
      const values = { metadata: JSON.stringify(body), tm_update: timestamp() };
      const [row] = await rowsOf(trx, identity.customer_id).update(values).returning('*');
      await tellCustomer(trx, 'customer_updated', found(row), request_id);
      return show(found(row));
    }),
});

/** With which of its accounts a customer pays. */
export const billingAccountChoice = z.object({
  billing_account_id: z.uuid().describe('A billing account of this customer.'),
});

const updateBillingAccount = defineRoute({
  method: 'put',
  path: '/customer/billing_account_id',
  operation_id: 'update_customer_billing_account_id',
  summary: 'Choose the billing account that the own account pays with; it must be its own',
  tag: 'Customer',
  permission: 'admin',
  body: billingAccountChoice,
  response: schema,
  reasons: ['CUSTOMER_NOT_FOUND', 'BILLING_ACCOUNT_NOT_FOUND'],
  handle: ({ context, identity, body, request_id }) =>
    context.db.transaction(async trx => {
      const { customer_id } = identity;
      await mustBeAccountOf(trx, customer_id, body.billing_account_id);
      const [row] = await rowsOf(trx, customer_id)
        .update({ ...body, tm_update: timestamp() })
        .returning('*');
      await tellCustomer(trx, 'customer_updated', found(row), request_id);
      return show(found(row));
    }),
});

/** True when normal numbers and telephone calls are allowed to a customer (voice-and-flows 9.1). */
export const isIdentityVerified = async (db: Queryable, customerId: string): Promise<boolean> =>
  (await rowsOf(db, customerId).first())?.['identity_verification_status'] === 'verified';

export const customerRoutes: Route[] = [get, update, updateMetadata, updateBillingAccount];

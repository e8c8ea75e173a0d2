import { z } from 'zod';
import { DEFAULT_ROUTES_OWNER } from '#contract/carrier';
import { PlatformError } from '#contract/errors';
import { isId } from '#contract/ids';
import { NEVER } from '#contract/time';
import type { Db } from '../db.ts';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { providers } from './providers.ts';
import { defineResource } from './resource.ts';
import { Store, type Scope } from './store.ts';

const id = z.string().refine(isId, 'must be a UUID').toLowerCase();

/** Which provider takes which numbers of whom (accounts-and-plumbing 23). */
export const routeRecords = defineResource({
  name: 'route',
  title: 'Route',
  path: '/routes',
  table: 'routes',
  not_found: 'ROUTE_NOT_FOUND',
  read: 'super',
  write: 'super',
  unset: NEVER,
  told: false,
  tenancy: 'any',
  filters: { customer_id: id.optional().describe('Only routes of this customer.') },
  refusals: ['PROVIDER_NOT_FOUND', 'CUSTOMER_NOT_FOUND'],
  fields: {
    customer_id: id.describe(`Whose it is; ${DEFAULT_ROUTES_OWNER}: everybody's, tried after their own.`),
    name: nameField,
    detail: detailField,
    provider_id: id.describe('Where the calls go.'),
    priority: z.int().min(0).max(1_000_000).describe('Lower first.'),
    target: z
      .string()
      .regex(/^(all|\+[1-9]\d{0,2})$/, 'must be + and a country calling code, or all')
      .describe('Numbers it takes: `+82`, or `all`.'),
  },
  changeable: ['name', 'detail', 'provider_id', 'priority', 'target'],
});

const PLATFORM: Scope = { customer_id: '', any_customer: true, request_id: '' };

/** Rejects PROVIDER_NOT_FOUND unless a live provider has this id. */
export const mustBeProvider = async (db: Db, providerId: unknown): Promise<void> => {
  await new Store(providers, db).get(PLATFORM, String(providerId));
};

const mustBeCustomer = async (db: Db, customerId: string): Promise<void> => {
  if (customerId === DEFAULT_ROUTES_OWNER) return;
  if (!(await db('customers').where('id', customerId).whereNull('tm_delete').first('id')))
    throw new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');
};

const plain = crud(routeRecords, {
  async prepare({ context }, body) {
    await mustBeCustomer(context.db, body.customer_id);
    await mustBeProvider(context.db, body.provider_id);
    return body;
  },
  async revise({ context }, body) {
    if (body['provider_id'] !== undefined) await mustBeProvider(context.db, body['provider_id']);
    return body;
  },
});

export const routeRoutes: Route[] = Object.values(plain);

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import { defineRoute, type Route } from '../http/route.ts';
import { totalsOf } from '../storage/keep.ts';
import { crud } from './crud.ts';
import { findCustomer } from './customers.ts';
import { defineResource, render, type Row } from './resource.ts';
import { spelledAlso } from './spelled.ts';

/** What a customer keeps in files, counted (accounts-and-plumbing 30.1). Each has one from its first moment. */
export const storageAccounts = defineResource({
  name: 'storage_account',
  title: 'StorageAccount',
  path: '/storage_accounts',
  table: 'storage_accounts',
  not_found: 'ACCOUNT_NOT_FOUND',
  read: 'manager',
  write: 'super',
  unset: NEVER,
  told: false,
  tenancy: 'any',
  refusals: ['CUSTOMER_NOT_FOUND', 'STATE_INVALID'],
  fields: { customer_id: z.uuid().describe('Whose it is.') },
  changeable: [],
  shown: {
    total_file_count: z.number().int().describe('How many files there are.'),
    total_file_size: z.number().int().describe('How many bytes they have together.'),
  },
});

const routes = crud(storageAccounts, {
  async prepare({ context }, { customer_id }) {
    await findCustomer(context.db, customer_id);
    return { customer_id, ...(await totalsOf(context.db, customer_id)) };
  },
});

const own = defineRoute({
  method: 'get',
  path: '/storage_account',
  operation_id: 'get_own_storage_account',
  summary: 'Get the storage account of the own account',
  tag: storageAccounts.title,
  permission: 'manager',
  response: storageAccounts.schema,
  reasons: ['ACCOUNT_NOT_FOUND'],
  async handle(request) {
    const { customer_id } = request.identity;
    const row = await request.context.db<Row>('storage_accounts').where({ customer_id }).whereNull('tm_delete').first();
    if (!row) throw new PlatformError('ACCOUNT_NOT_FOUND', 'There is no storage account.');
    return render(storageAccounts, row);
  },
});

const { get, create, list, remove } = routes;
const both: Route[] = [{ ...list, permission: 'super' }, create, get, remove];

export const storageAccountRoutes: Route[] = [
  own,
  ...both,
  ...spelledAlso(both, '/storage_accounts', '/storage-accounts'),
];

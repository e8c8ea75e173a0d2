import { z } from 'zod';
import { COUNTRIES } from '#contract/countries';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isId, isSet, newId } from '#contract/ids';
import { timestamp, toRfc3339 } from '#contract/time';
import type { Queryable } from '../db.ts';
import { pageFrom, pageOf, pageQuery } from '../http/pagination.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { idParams, scopeOf } from './crud.ts';
import { byId } from './filters.ts';
import { detailField, nameField } from './fields.ts';
import { changesOf, defineResource, render, type Row } from './resource.ts';
import { Store } from './store.ts';

const isCodecList = (text: string): boolean =>
  text.length <= 255 && (text === '' || text.split(',').every(token => /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(token)));

const knowsCountries = (list: string[] | null): boolean =>
  list === null || (new Set(list).size === list.length && list.every(code => COUNTRIES.has(code)));

/** Null or an empty value clears a field (accounts-and-plumbing 16). */
const fields = {
  name: nameField,
  detail: detailField,
  destination_whitelist: z
    .array(z.string().trim().toLowerCase())
    .nullable()
    .refine(knowsCountries, 'must have ISO 3166 alpha-2 country codes, each once')
    .default([])
    .describe('Countries that may be called; none: no telephone number at all.'),
  codecs: z
    .string()
    .nullable()
    .refine(text => isCodecList(text ?? ''), 'must be at most 255 characters of codec names with commas between them')
    .default('')
    .describe('Codecs offered to SIP destinations, the best first; empty: what the media server offers.'),
  default_outgoing_source_number_id: z
    .string()
    .nullable()
    .refine(text => text === null || text === '' || isId(text), 'must be a UUID')
    .default(EMPTY_ID)
    .describe('An active normal number that stands in where a call to a telephone has no source of its own.'),
};

/** What a customer may call, and as whom (accounts-and-plumbing 16). */
export const outboundConfigs = defineResource({
  name: 'outbound_config',
  title: 'OutboundConfig',
  path: '/outbound_configs',
  table: 'outbound_configs',
  not_found: 'OUTBOUND_CONFIG_NOT_FOUND',
  read: 'admin',
  write: 'admin',
  unset: null,
  told: false,
  fields,
  changeable: Object.keys(fields) as (keyof typeof fields)[],
  shown: {
    destination_whitelist: z.array(z.string()),
    codecs: z.string(),
    default_outgoing_source_number_id: z.uuid(),
  },
});
const { schema } = outboundConfigs;
const changeBody = changesOf(fields, Object.keys(fields));
const forCustomer = z.object({ customer_id: byId('For super admins only.') });

/** Its moments are RFC 3339, unlike those of all other resources (platform-api, OutboundConfig). */
const show = (row: Row): Record<string, unknown> => {
  const { tm_create, tm_update, tm_delete } = row;
  const moments = { tm_update: tm_update && toRfc3339(tm_update), tm_delete: tm_delete && toRfc3339(tm_delete) };
  return { ...render(outboundConfigs, row), tm_create: toRfc3339(tm_create), ...moments };
};

/** Gives a new customer its config: nothing may be called yet (platform-api, Signup). */
export const createOutboundConfig = async (db: Queryable, customer_id: string): Promise<void> => {
  await db('outbound_configs').insert({ id: newId(), customer_id, tm_create: timestamp() });
};

const live = (db: Queryable, customerId: string) =>
  db<Row>('outbound_configs').where('customer_id', customerId).whereNull('tm_delete').first();

/** Rejects INVALID_ARGUMENT unless a set id names an active normal number of the customer. */
const mustBeSource = async (db: Queryable, customer_id: string, id: string): Promise<void> => {
  if (!isSet(id)) return;
  const own = { id, customer_id, type: 'normal', status: 'active' };
  if (await db('numbers').where(own).whereNull('tm_delete').first('id')) return;
  throw new PlatformError(
    'INVALID_ARGUMENT',
    'default_outgoing_source_number_id: must be an active normal number of the account.',
  );
};

/** A body as columns: what is cleared gets its empty value. */
const columnsOf = async (db: Queryable, customerId: string, body: Record<string, unknown>) => {
  const columns = { ...body };
  for (const [name, empty] of [
    ['destination_whitelist', []],
    ['codecs', ''],
  ] as const)
    if (columns[name] === null) columns[name] = empty;
  const source = columns['default_outgoing_source_number_id'];
  if (source === undefined) return columns;
  const id = typeof source === 'string' && source !== '' ? source.toLowerCase() : EMPTY_ID;
  await mustBeSource(db, customerId, id);
  return { ...columns, default_outgoing_source_number_id: id };
};

const missing = () => new PlatformError('OUTBOUND_CONFIG_NOT_FOUND', 'OutboundConfig not found.');

/** Changes a config in place. */
const change = async (request: RouteRequest, row: Row | undefined, body: Record<string, unknown>) => {
  if (!row) throw missing();
  const { context } = request;
  const columns = await columnsOf(context.db, row.customer_id, body);
  return show(await new Store(outboundConfigs, context.db).update(scopeOf(request), row.id, columns));
};

const getOwn = defineRoute({
  method: 'get',
  path: '/outbound_config',
  operation_id: 'get_own_outbound_config',
  summary: 'Get the outbound config of the own account',
  tag: 'OutboundConfig',
  permission: 'admin',
  response: schema,
  reasons: ['OUTBOUND_CONFIG_NOT_FOUND'],
  async handle({ context, identity }) {
    const row = await live(context.db, identity.customer_id);
    if (!row) throw missing();
    return show(row);
  },
});

const updateOwn = defineRoute({
  method: 'put',
  path: '/outbound_config',
  operation_id: 'update_own_outbound_config',
  summary: 'Change the outbound config of the own account; what is left out stays, null or empty clears',
  tag: 'OutboundConfig',
  permission: 'admin',
  body: changeBody,
  response: schema,
  reasons: ['OUTBOUND_CONFIG_NOT_FOUND'],
  handle: async request => change(request, await live(request.context.db, request.identity.customer_id), request.body),
});

const list = defineRoute({
  method: 'get',
  path: '/outbound_configs',
  operation_id: 'list_outbound_configs',
  summary: 'List outbound configs: the own one; for super admins everybody’s',
  tag: 'OutboundConfig',
  permission: 'admin',
  query: pageQuery.extend(forCustomer.shape),
  response: pageOf(schema),
  async handle(request) {
    const { identity, query, context } = request;
    const everybody = isSuperAdmin(identity);
    const store = new Store({ ...outboundConfigs, tenancy: everybody ? 'any' : 'own' }, context.db);
    const { page_size, page_token, customer_id } = query;
    const page = { page_size, page_token, ...(everybody ? { customer_id } : {}) };
    const { result, next_page_token } = pageFrom(await store.list(scopeOf(request), page), page);
    return { result: result.map(show), next_page_token };
  },
});

/** Rejects CUSTOMER_NOT_FOUND for a customer that a super admin names and nobody knows. */
const ownerOf = async ({ context, identity }: RouteRequest, wanted: string | undefined): Promise<string> => {
  if (wanted === undefined || !isSuperAdmin(identity)) return identity.customer_id;
  if (await context.db('customers').where('id', wanted).whereNull('tm_delete').first('id')) return wanted;
  throw new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');
};

const create = defineRoute({
  method: 'post',
  path: '/outbound_configs',
  operation_id: 'create_outbound_config',
  summary: 'Make the outbound config of the account, or change the one it has',
  tag: 'OutboundConfig',
  permission: 'admin',
  body: changeBody.extend(forCustomer.shape),
  response: schema,
  reasons: ['CUSTOMER_NOT_FOUND', 'ALREADY_EXISTS'],
  async handle(request) {
    const { context, body } = request;
    const { customer_id: wanted, ...given } = body as Record<string, unknown> & { customer_id?: string };
    const customer_id = await ownerOf(request, wanted);
    const present = await live(context.db, customer_id);
    if (present) return change(request, present, given);
    const columns = await columnsOf(context.db, customer_id, given);
    return show(await new Store(outboundConfigs, context.db).insert(scopeOf(request), { ...columns, customer_id }));
  },
});

const get = defineRoute({
  method: 'get',
  path: '/outbound_configs/{id}',
  operation_id: 'get_outbound_config',
  summary: 'Get one outbound config',
  tag: 'OutboundConfig',
  permission: 'admin',
  params: idParams,
  response: schema,
  reasons: ['OUTBOUND_CONFIG_NOT_FOUND'],
  handle: async request =>
    show(await new Store(outboundConfigs, request.context.db).get(scopeOf(request), request.params.id)),
});

const update = defineRoute({
  method: 'put',
  path: '/outbound_configs/{id}',
  operation_id: 'update_outbound_config',
  summary: 'Change one outbound config; what is left out stays, null or empty clears',
  tag: 'OutboundConfig',
  permission: 'admin',
  params: idParams,
  body: changeBody,
  response: schema,
  reasons: ['OUTBOUND_CONFIG_NOT_FOUND'],
  async handle(request) {
    const store = new Store(outboundConfigs, request.context.db);
    return change(request, await store.get(scopeOf(request), request.params.id), request.body);
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/outbound_configs/{id}',
  operation_id: 'delete_outbound_config',
  summary: 'Delete one outbound config; its account can call no telephone until it has another',
  tag: 'OutboundConfig',
  permission: 'super',
  params: idParams,
  response: schema,
  reasons: ['OUTBOUND_CONFIG_NOT_FOUND'],
  handle: async request =>
    show(await new Store(outboundConfigs, request.context.db).remove(scopeOf(request), request.params.id)),
});

export const outboundConfigRoutes: Route[] = [getOwn, updateOwn, list, create, get, update, remove];

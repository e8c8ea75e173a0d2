import { z } from 'zod';
import type { RouteRequest } from '../http/route.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { listQuery, pageFrom, pageOf } from '../http/pagination.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { render, type Resource, type ResourceOf, type Row } from './resource.ts';
import { Store, type More, type Scope } from './store.ts';

type Values = Record<string, unknown>;

/** What makes a resource more than plain; all optional. */
export interface Behaviour<F extends z.ZodRawShape> {
  /** Turns the body of POST into columns. */
  prepare?(request: RouteRequest, body: z.output<z.ZodObject<F>>): Promise<Values>;
  /** Turns the body of PUT into columns; `row` is what they change. */
  revise?(request: RouteRequest, body: Values, row: Row): Promise<Values>;
  /** More to write in the transaction of a creation. */
  creating?(request: RouteRequest): More;
  /** More to write in the transaction of a PUT. */
  revising?(request: RouteRequest): More;
  /** Columns that a deletion writes beside `tm_delete`. */
  removal?: Values;
  /** More to write in the transaction of a deletion. */
  removing?(request: RouteRequest): More;
  /** What follows a deletion. */
  removed?(request: RouteRequest, id: string, customerId: string): Promise<void>;
}

/** The path parameter of every single record. */
export const idParams = z.object({ id: z.uuid().describe('The id of the record.') });

/** The scope of a request. */
export const scopeOf = ({ identity, request_id, fresh_id }: RouteRequest): Scope => ({
  customer_id: identity.customer_id,
  any_customer: isSuperAdmin(identity),
  request_id,
  fresh_id,
});

const plain = (resource: Resource): string => resource.path.slice(1).replaceAll('_', ' ');
const noun = (resource: Resource): string => resource.title.toLowerCase();

/** GET of a page of a resource. */
const listRoute = (resource: Resource): Route =>
  defineRoute({
    method: 'get',
    path: resource.path,
    operation_id: `list_${resource.path.slice(1)}`,
    summary: `List ${plain(resource)}, newest first`,
    tag: resource.title,
    permission: resource.read,
    query: listQuery(resource.filters, resource.page_size),
    response: pageOf(resource.schema),
    async handle(request) {
      const rows = await new Store(resource, request.context.db).list(scopeOf(request), request.query);
      const { result, next_page_token } = pageFrom(rows, request.query);
      return { result: result.map(row => render(resource, row)), next_page_token };
    },
  });

const getRoute = (resource: Resource): Route =>
  defineRoute({
    method: 'get',
    path: `${resource.path}/{id}`,
    operation_id: `get_${resource.name}`,
    summary: `Get one ${noun(resource)}`,
    tag: resource.title,
    permission: resource.read,
    params: idParams,
    response: resource.schema,
    reasons: [resource.not_found],
    async handle(request) {
      const row = await new Store(resource, request.context.db).get(scopeOf(request), request.params.id);
      return render(resource, row);
    },
  });

const createRoute = <F extends z.ZodRawShape>(resource: ResourceOf<F>, behaviour: Behaviour<F>): Route =>
  defineRoute({
    method: 'post',
    path: resource.path,
    operation_id: `create_${resource.name}`,
    summary: `Create one ${noun(resource)}`,
    tag: resource.title,
    permission: resource.write,
    body: resource.create,
    response: resource.schema,
    reasons: [
      'ALREADY_EXISTS',
      ...(resource.limited ? (['RESOURCE_LIMIT_EXCEEDED'] as const) : []),
      ...(resource.refusals ?? []),
    ],
    async handle(request) {
      const body = request.body;
      const values = behaviour.prepare ? await behaviour.prepare(request, body) : body;
      const store = new Store(resource, request.context.db);
      return render(resource, await store.insert(scopeOf(request), values, behaviour.creating?.(request)));
    },
  });

const updateRoute = <F extends z.ZodRawShape>(resource: ResourceOf<F>, behaviour: Behaviour<F>): Route =>
  defineRoute({
    method: 'put',
    path: `${resource.path}/{id}`,
    operation_id: `update_${resource.name}`,
    summary: `Change one ${noun(resource)}; what is left out stays as it is`,
    tag: resource.title,
    permission: resource.write,
    params: idParams,
    body: resource.change,
    response: resource.schema,
    reasons: [resource.not_found, ...(resource.refusals ?? [])],
    async handle(request) {
      const store = new Store(resource, request.context.db);
      const scope = scopeOf(request);
      const row = await store.get(scope, request.params.id);
      const customer_id = resource.tenancy === 'none' ? request.identity.customer_id : row.customer_id;
      const owner = { ...request, identity: { ...request.identity, customer_id } };
      const values = behaviour.revise ? await behaviour.revise(owner, request.body, row) : request.body;
      return render(resource, await store.update(scope, request.params.id, values, behaviour.revising?.(owner)));
    },
  });

const removeRoute = <F extends z.ZodRawShape>(resource: ResourceOf<F>, behaviour: Behaviour<F>): Route =>
  defineRoute({
    method: 'delete',
    path: `${resource.path}/{id}`,
    operation_id: `delete_${resource.name}`,
    summary: `Delete one ${noun(resource)}`,
    tag: resource.title,
    permission: resource.write,
    params: idParams,
    response: resource.schema,
    reasons: [resource.not_found],
    async handle(request) {
      const store = new Store(resource, request.context.db);
      const more = behaviour.removing?.(request);
      const row = await store.remove(scopeOf(request), request.params.id, behaviour.removal, more);
      await behaviour.removed?.(request, row.id, row.customer_id);
      return render(resource, row);
    },
  });

/** The five plain routes of a stored resource. */
export const crud = <F extends z.ZodRawShape>(resource: ResourceOf<F>, behaviour: Behaviour<F> = {}) => ({
  list: listRoute(resource),
  create: createRoute(resource, behaviour),
  get: getRoute(resource),
  update: updateRoute(resource, behaviour),
  remove: removeRoute(resource, behaviour),
});

import { z } from 'zod';
import type { Reason } from '#contract/errors';
import type { Permission } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { idParams, scopeOf } from './crud.ts';
import { render, type Resource, type Row } from './resource.ts';
import { Store, type More } from './store.ts';

/** The columns to write, and what else to write with them. */
export interface Change extends More {
  values: Record<string, unknown>;
}

/** How one part of a record is changed by a PUT of its own. */
export interface Setter<B extends z.ZodRawShape> {
  /** The last word of its path. */
  field: string;
  summary: string;
  /** Who may, when it is not whoever may write the resource. */
  permission?: Exclude<Permission, 'public'>;
  body: B;
  /** Its own, beside not found. */
  reasons?: Reason[];
  /**
   * What to write: the body as it is when this is left out, nothing when it resolves with nothing. `row` is what is
   * changed, and the identity is its customer's.
   */
  change?(
    request: RouteRequest<{ id: string }, unknown, z.output<z.ZodObject<B>>>,
    row: Row,
  ): Promise<Change | undefined>;
}

/** PUT of one part of a record. All its fields are required. */
export const setter = <B extends z.ZodRawShape>(resource: Resource, given: Setter<B>): Route =>
  defineRoute({
    method: 'put',
    path: `${resource.path}/{id}/${given.field}`,
    operation_id: `update_${resource.name}_${given.field}`,
    summary: given.summary,
    tag: resource.title,
    permission: given.permission ?? resource.write,
    params: idParams,
    body: z.object(given.body),
    response: resource.schema,
    reasons: [resource.not_found, ...(given.reasons ?? [])],
    async handle(request) {
      const store = new Store(resource, request.context.db);
      const scope = scopeOf(request);
      const row = await store.get(scope, request.params.id);
      const identity = { ...request.identity, customer_id: row.customer_id };
      const owner = { ...request, identity };
      const change = given.change ? await given.change(owner, row) : { values: request.body };
      if (!change) return render(resource, row);
      const { values, ...more } = change;
      return render(resource, await store.update(scope, request.params.id, values, more));
    },
  });

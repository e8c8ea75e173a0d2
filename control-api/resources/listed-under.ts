import type { z } from 'zod';
import type { Route, RouteRequest } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { listQuery, pageFrom, pageOf, type ListQuery } from '../http/pagination.ts';
import { idParams, scopeOf } from './crud.ts';
import { render, type Resource, type Row } from './resource.ts';
import { Store, type Scope } from './store.ts';

/** Records that belong to a record of another resource. */
export interface Listed {
  parent: Resource;
  child: Resource;
  /** The column of the child that names its parent. */
  column: string;
  /** The last word of the path. */
  field: string;
  summary: string;
}

/** The record that the path names, and the scope of what belongs to it: that of its customer. */
export const parentOf = async (
  parent: Resource,
  request: RouteRequest<{ id: string }>,
): Promise<{ row: Row; scope: Scope }> => {
  const scope = scopeOf(request);
  const row = await new Store(parent, request.context.db).get(scope, request.params.id);
  return { row, scope: { ...scope, customer_id: row.customer_id, any_customer: false } };
};

/** GET of a page of the records that belong to one record. */
export const listUnder = ({ parent, child, column, field, summary }: Listed): Route =>
  defineRoute({
    method: 'get',
    path: `${parent.path}/{id}/${field}`,
    operation_id: `list_${parent.name}_${field}`,
    summary,
    tag: parent.title,
    permission: parent.read,
    params: idParams,
    query: listQuery(child.filters, child.page_size),
    response: pageOf(child.schema as z.ZodType),
    reasons: [parent.not_found],
    async handle(request) {
      const { row, scope } = await parentOf(parent, request);
      const query: ListQuery = { ...request.query, [column]: row.id };
      const rows = await new Store(child, request.context.db).list(scope, query);
      const { result, next_page_token } = pageFrom(rows, request.query);
      return { result: result.map(each => render(child, each)), next_page_token };
    },
  });

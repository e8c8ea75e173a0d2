import type { z } from 'zod';
import type { LiveResources as Shapes } from '#contract/events';
import { PlatformError, type Reason } from '#contract/errors';
import type { LiveKind } from '#contract/keys';
import { NEVER } from '#contract/time';
import { listQuery, pageOf } from '../http/pagination.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import type { Found } from '../live.ts';
import { idParams } from './crud.ts';

/** A resource that media-app owns: read here, changed by commands. */
export interface LiveResource<K extends LiveKind> {
  kind: K;
  title: string;
  path: string;
  not_found: Reason;
  schema: z.ZodType<Shapes[K]>;
  /** Query parameters that narrow its list; each asks for records whose field of that name has the value. */
  filters?: z.ZodRawShape;
}

/** The record a request names, live or finished. Rejects the not-found reason, for deleted ones too. */
export const findLive = async <K extends LiveKind>(
  resource: LiveResource<K>,
  { context, identity }: RouteRequest,
  id: string,
): Promise<Found<K>> => {
  const customerId = isSuperAdmin(identity) ? undefined : identity.customer_id;
  const found = await context.live.find(resource.kind, customerId, id);
  const deleted = found?.data.tm_delete;
  if (found && (deleted === null || deleted === NEVER)) return found;
  throw new PlatformError(resource.not_found, `${resource.title} not found.`);
};

/** GET of a page of the customer's records. */
export const listLive = <K extends LiveKind>(resource: LiveResource<K>): Route =>
  defineRoute({
    method: 'get',
    path: resource.path,
    operation_id: `list_${resource.path.slice(1)}`,
    summary: `List ${resource.path.slice(1)}, newest first`,
    tag: resource.title,
    permission: 'manager',
    query: listQuery(resource.filters),
    response: pageOf(resource.schema),
    handle: ({ context, identity, query: { page_size, page_token, ...only } }) =>
      context.live.list(resource.kind, identity.customer_id, { page_size, page_token, only }),
  });

/** GET of one record. */
export const getLive = <K extends LiveKind>(resource: LiveResource<K>): Route =>
  defineRoute({
    method: 'get',
    path: `${resource.path}/{id}`,
    operation_id: `get_${resource.kind}`,
    summary: `Get one ${resource.kind}`,
    tag: resource.title,
    permission: 'manager',
    params: idParams,
    response: resource.schema,
    reasons: [resource.not_found],
    handle: async request => (await findLive(resource, request, request.params.id)).data,
  });

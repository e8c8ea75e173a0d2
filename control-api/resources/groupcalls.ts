import { groupcallSchema } from '#contract/groupcall';
import type { Route } from '../http/route.ts';
import { getLive, listLive, type LiveResource } from './live.ts';

/** Several legs rung for one destination (voice-and-flows 11). */
const groupcalls: LiveResource<'groupcall'> = {
  kind: 'groupcall',
  title: 'Groupcall',
  path: '/groupcalls',
  not_found: 'GROUPCALL_NOT_FOUND',
  schema: groupcallSchema,
};

export const groupcallRoutes: Route[] = [listLive(groupcalls), getLive(groupcalls)];

import { conferencecallSchema } from '#contract/conferencecall';
import { PlatformError } from '#contract/errors';
import { CONFERENCECALL_STATUSES } from '#contract/machines/conferencecall';
import { defineRoute, type Route } from '../http/route.ts';
import { idParams } from './crud.ts';
import { byId, byWord } from './filters.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';

/** Participations of calls in conferences (voice-and-flows 13.4). */
export const conferencecalls: LiveResource<'conferencecall'> = {
  kind: 'conferencecall',
  title: 'Conferencecall',
  path: '/conferencecalls',
  not_found: 'CONFERENCECALL_NOT_FOUND',
  schema: conferencecallSchema,
  filters: {
    conference_id: byId('Only those of this conference.'),
    reference_id: byId('Only those of this call.'),
    status: byWord(CONFERENCECALL_STATUSES, 'Only those with this status.'),
  },
};

const kick = defineRoute({
  method: 'delete',
  path: '/conferencecalls/{id}',
  operation_id: 'delete_conferencecall',
  summary: 'Put one participant out of its conference; its record stays',
  tag: conferencecalls.title,
  permission: 'manager',
  params: idParams,
  response: conferencecallSchema,
  reasons: ['CONFERENCECALL_NOT_FOUND', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { context, request_id } = request;
    const { data, owner, live } = await findLive(conferencecalls, request, request.params.id);
    if (!live || owner === undefined || data.status === 'leaving' || data.status === 'leaved') return data;
    const { customer_id, conference_id } = data;
    const body = { conferencecall_id: data.id, conference_id };
    return context.commands.send('conferencecall.kick', { customer_id, request_id, body, owner }).catch(
      // It may have left meanwhile, which is what was asked for.
      async (error: unknown) => {
        const again = await context.live.find('conferencecall', customer_id, data.id);
        if (error instanceof PlatformError && again?.data.status === 'leaved') return again.data;
        throw error;
      },
    );
  },
});

export const conferencecallRoutes: Route[] = [listLive(conferencecalls), getLive(conferencecalls), kick];

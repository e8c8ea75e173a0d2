import { z } from 'zod';
import { addressSchema, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { ANSWER_METHODS, groupcallSchema, RING_METHODS, type Groupcall } from '#contract/groupcall';
import { GROUPCALL_STATUSES } from '#contract/machines/groupcall';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { admit, destinationsField, withFlow } from './calls.ts';
import { idParams } from './crud.ts';
import { reference, variablesField } from './fields.ts';
import { byId, byWord } from './filters.ts';
import { actionsField } from './flow-store.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';

/** Several legs rung for one purpose (voice-and-flows 11). */
export const groupcalls: LiveResource<'groupcall'> = {
  kind: 'groupcall',
  title: 'Groupcall',
  path: '/groupcalls',
  not_found: 'GROUPCALL_NOT_FOUND',
  schema: groupcallSchema,
  filters: {
    status: byWord(GROUPCALL_STATUSES, 'Only those with this status.'),
    master_call_id: byId('Only those that this call placed.'),
    owner_id: byId('Only those of this agent.'),
  },
};

const createBody = z.object({
  source: addressSchema,
  destinations: destinationsField,
  flow_id: reference('The flow that whoever answers runs. It wins over actions.'),
  actions: actionsField.default([]),
  variables: variablesField,
  ring_method: z
    .enum(['', ...RING_METHODS])
    .default('ring_all')
    .describe('`ring_all`: everybody at once; `linear`: one destination after the other. Empty: ring_all.'),
  answer_method: z
    .enum(ANSWER_METHODS)
    .default('hangup_others')
    .describe('`hangup_others`: the first answer ends all other legs; empty: it does nothing.'),
});

const create = defineRoute({
  method: 'post',
  path: '/groupcalls',
  operation_id: 'create_groupcall',
  summary: 'Ring several destinations at once or in turn, and run a flow with whoever answers',
  tag: 'Groupcall',
  permission: 'manager',
  body: createBody,
  response: groupcallSchema,
  reasons: [
    'FLOW_NOT_FOUND',
    'INVALID_VARIABLES',
    'INVALID_ACTION_TYPE',
    'IDENTITY_VERIFICATION_REQUIRED',
    'INSUFFICIENT_BALANCE',
    'RESOURCE_LIMIT_EXCEEDED',
    'REQUEST_TIMEOUT',
  ],
  async handle(request) {
    const { context, identity, request_id, body } = request;
    const destinations = body.destinations.map(normalizeAddress);
    await admit(request, destinations);
    const { variables, answer_method, ring_method } = body;
    const methods = { answer_method, ring_method: ring_method || 'ring_all' };
    const order = { source: normalizeAddress(body.source), destinations, variables, ...methods };
    const { customer_id } = identity;
    return withFlow(request, body, flow =>
      context.commands.send('groupcall.create', { customer_id, request_id, body: { ...order, flow } }),
    );
  },
});

/** Hangs up what is still up. That is idempotent, so one that ended meanwhile is shown as it ended. */
const hungUp = async (request: RouteRequest, id: string): Promise<Groupcall> => {
  const { data, owner } = await findLive(groupcalls, request, id);
  if (data.status !== 'progressing') return data;
  if (owner === undefined) throw new PlatformError('STATE_INVALID', 'No media node holds this groupcall any more.');
  const { context, request_id } = request;
  const order = { customer_id: data.customer_id, request_id, body: { groupcall_id: id }, owner };
  return context.commands.send('groupcall.hangup', order).catch(async (error: unknown) => {
    const again = await context.live.find('groupcall', data.customer_id, id);
    if (error instanceof PlatformError && again && again.data.status !== 'progressing') return again.data;
    throw error;
  });
};

const hangup = defineRoute({
  method: 'post',
  path: '/groupcalls/{id}/hangup',
  operation_id: 'hangup_groupcall',
  summary: 'Hang every leg of one groupcall up; hanging up twice is no error',
  tag: 'Groupcall',
  permission: 'manager',
  params: idParams,
  response: groupcallSchema,
  reasons: ['GROUPCALL_NOT_FOUND', 'STATE_INVALID', 'REQUEST_TIMEOUT'],
  handle: request => hungUp(request, request.params.id),
});

const remove = defineRoute({
  method: 'delete',
  path: '/groupcalls/{id}',
  operation_id: 'delete_groupcall',
  summary: 'Delete one groupcall; it is hung up first when it is still up',
  tag: 'Groupcall',
  permission: 'manager',
  params: idParams,
  response: groupcallSchema,
  reasons: ['GROUPCALL_NOT_FOUND', 'STATE_INVALID', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const ended = await hungUp(request, request.params.id);
    return request.context.live.remove('groupcall', ended, request.request_id);
  },
});

export const groupcallRoutes: Route[] = [create, listLive(groupcalls), getLive(groupcalls), hangup, remove];

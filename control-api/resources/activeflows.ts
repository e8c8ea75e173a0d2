import { z } from 'zod';
import { activeflowSchema, REFERENCE_TYPES, type Activeflow } from '#contract/activeflow';
import { PlatformError } from '#contract/errors';
import { isSet, newId } from '#contract/ids';
import { ACTIVEFLOW_STATUSES } from '#contract/machines/activeflow';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { withFlow } from './calls.ts';
import { idParams } from './crud.ts';
import { reference, variablesField, webhookMethod, webhookUri } from './fields.ts';
import { byId, byWord } from './filters.ts';
import { actionsField } from './flow-store.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';

/** Flows being executed (voice-and-flows 7). */
export const activeflows: LiveResource<'activeflow'> = {
  kind: 'activeflow',
  title: 'Activeflow',
  path: '/activeflows',
  not_found: 'ACTIVEFLOW_NOT_FOUND',
  schema: activeflowSchema,
  filters: {
    status: byWord(ACTIVEFLOW_STATUSES, 'Only those with this status.'),
    flow_id: byId('Only those of this flow.'),
    reference_type: byWord(REFERENCE_TYPES, 'Only those that run for this kind of thing.'),
    reference_id: byId('Only those that run for this call.'),
  },
};

const createBody = z.object({
  id: reference('An id of your own; left out, the platform makes one.'),
  flow_id: reference('The flow to run. It wins over actions.'),
  actions: actionsField.default([]),
  variables: variablesField,
  webhook_uri: webhookUri.default(''),
  webhook_method: webhookMethod.default(''),
});

/** The id of the new activeflow. Rejects ALREADY_EXISTS when a client's own id is taken by anybody. */
const freshId = async ({ context }: RouteRequest, wanted: string): Promise<string> => {
  if (!isSet(wanted)) return newId();
  if (await context.live.find('activeflow', undefined, wanted))
    throw new PlatformError('ALREADY_EXISTS', 'An activeflow with this id exists already.');
  return wanted;
};

const create = defineRoute({
  method: 'post',
  path: '/activeflows',
  operation_id: 'create_activeflow',
  summary: 'Run a flow without a call',
  tag: 'Activeflow',
  permission: 'manager',
  body: createBody,
  status: 201,
  response: activeflowSchema,
  reasons: [
    'FLOW_NOT_FOUND',
    'ALREADY_EXISTS',
    'INVALID_VARIABLES',
    'INVALID_ACTION_TYPE',
    'INVALID_WEBHOOK_URI',
    'INVALID_WEBHOOK_METHOD',
    'REQUEST_TIMEOUT',
  ],
  async handle(request) {
    const { context, identity, request_id, body } = request;
    if (!isSet(body.flow_id) && body.actions.length === 0)
      throw new PlatformError('INVALID_ARGUMENT', 'flow_id or actions is required.');
    const id = await freshId(request, body.id);
    const { variables, webhook_uri, webhook_method } = body;
    const order = { id, variables, webhook_uri, webhook_method };
    const { customer_id } = identity;
    return withFlow(request, body, flow =>
      context.commands.send('activeflow.create', { customer_id, request_id, body: { ...order, flow } }),
    );
  },
});

/** Stops what still runs. Stopping is idempotent, so one that ended meanwhile is shown as it ended. */
const stopped = async (request: RouteRequest, id: string): Promise<Activeflow> => {
  const { data, owner, live } = await findLive(activeflows, request, id);
  if (!live || data.status === 'ended') return data;
  const given = { customer_id: data.customer_id, request_id: request.request_id, body: { activeflow_id: id } };
  const order = owner === undefined ? given : { ...given, owner };
  return request.context.commands.send('activeflow.stop', order).catch(async (error: unknown) => {
    const again = await request.context.live.find('activeflow', data.customer_id, id);
    if (error instanceof PlatformError && again?.data.status === 'ended') return again.data;
    throw error;
  });
};

const stop = defineRoute({
  method: 'post',
  path: '/activeflows/{id}/stop',
  operation_id: 'stop_activeflow',
  summary: 'Stop one activeflow; stopping twice is no error',
  tag: 'Activeflow',
  permission: 'manager',
  params: idParams,
  response: activeflowSchema,
  reasons: ['ACTIVEFLOW_NOT_FOUND', 'REQUEST_TIMEOUT'],
  handle: request => stopped(request, request.params.id),
});

const notBlocked = () => new PlatformError('FLOW_STATE_INVALID', 'The activeflow is not blocked at this action.');

const resume = defineRoute({
  method: 'post',
  path: '/activeflows/{id}/continue',
  operation_id: 'continue_activeflow',
  summary: 'Resume one activeflow that waits at a block action',
  tag: 'Activeflow',
  permission: 'manager',
  params: idParams,
  body: z.object({ current_action_id: z.uuid().describe('The block action that it waits at.') }),
  response: activeflowSchema,
  reasons: ['ACTIVEFLOW_NOT_FOUND', 'FLOW_STATE_INVALID', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { context, params, request_id, body } = request;
    const { data, owner, live } = await findLive(activeflows, request, params.id);
    if (!live || data.status === 'ended') throw notBlocked();
    const { customer_id } = data;
    const order = { customer_id, request_id, body: { activeflow_id: params.id, ...body } };
    return context.commands.send('activeflow.continue', owner === undefined ? order : { ...order, owner });
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/activeflows/{id}',
  operation_id: 'delete_activeflow',
  summary: 'Delete one activeflow; it is stopped first when it still runs',
  tag: 'Activeflow',
  permission: 'manager',
  params: idParams,
  response: activeflowSchema,
  reasons: ['ACTIVEFLOW_NOT_FOUND', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const ended = await stopped(request, request.params.id);
    return request.context.live.remove('activeflow', ended, request.request_id);
  },
});

export const activeflowRoutes: Route[] = [create, listLive(activeflows), getLive(activeflows), stop, resume, remove];

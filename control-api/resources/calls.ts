import { z } from 'zod';
import type { ActionInput } from '#contract/action';
import { addressSchema, ANONYMOUS_VALUES, isVirtualNumber, normalizeAddress, type Address } from '#contract/address';
import { callSchema, type Call } from '#contract/call';
import { PlatformError, type Reason } from '#contract/errors';
import { CALL_STATUSES } from '#contract/machines/call';
import type { FlowTemplate } from '#contract/flow';
import { groupcallSchema } from '#contract/groupcall';
import { isSet } from '#contract/ids';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { idParams } from './crud.ts';
import { isIdentityVerified } from './customer.ts';
import { reference, variablesField } from './fields.ts';
import { byId, byWord } from './filters.ts';
import { actionsField, removeTemporary, storeTemporary, templateOf, temporaryFlow } from './flow-store.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';

/** Legs between the platform and one party (voice-and-flows 8, 10). */
export const calls: LiveResource<'call'> = {
  kind: 'call',
  title: 'Call',
  path: '/calls',
  not_found: 'CALL_NOT_FOUND',
  schema: callSchema,
  filters: {
    status: byWord(CALL_STATUSES, 'Only those with this status.'),
    direction: byWord(['incoming', 'outgoing'], 'Only those of this direction.'),
    flow_id: byId('Only those that run this flow.'),
    activeflow_id: byId('Only the call of this activeflow.'),
    groupcall_id: byId('Only the legs of this groupcall.'),
    owner_id: byId('Only those of this agent.'),
  },
};

/** More destinations than this are refused. */
const MOST_DESTINATIONS = 100;

const destination = addressSchema.refine(address => address.target.trim() !== '', { error: 'needs a target' });

/** Whom to call, of every request that places calls. */
export const destinationsField = z.array(destination).min(1, 'needs at least one').max(MOST_DESTINATIONS);

const createBody = z.object({
  source: addressSchema,
  destinations: destinationsField,
  flow_id: reference('The flow the call runs. It wins over actions.'),
  actions: actionsField.default([]),
  variables: variablesField,
  anonymous: z.enum(ANONYMOUS_VALUES).default('auto').describe('For tel destinations only.'),
});

/** Of these nobody knows whether the order is obeyed. */
const FATE_UNKNOWN: Reason[] = ['REQUEST_TIMEOUT', 'REQUEST_CANCELED'];

/**
 * Runs an order with the flow a request names, or with its actions as a temporary one. The order carries a copy of the
 * flow, so it goes out while the temporary flow is being stored; the answer waits for both. A refused order leaves none.
 */
export const withFlow = async <T>(
  { context, identity }: RouteRequest,
  body: { flow_id: string; actions: ActionInput[] },
  order: (flow: FlowTemplate) => Promise<T>,
): Promise<T> => {
  if (isSet(body.flow_id)) return order(await templateOf(context.db, identity.customer_id, body.flow_id));
  const flow = temporaryFlow(identity.customer_id, body.actions);
  const [ordered, stored] = await Promise.allSettled([order(flow), storeTemporary(context.db, flow)]);
  if (ordered.status === 'rejected') {
    const error: unknown = ordered.reason;
    // What cannot be removed now expires with the day.
    if (error instanceof PlatformError && !FATE_UNKNOWN.includes(error.reason))
      await removeTemporary(context.db, flow).catch((err: unknown) => context.log.warn({ err }, 'flow not removed'));
    throw error;
  }
  if (stored.status === 'rejected') throw stored.reason;
  return ordered.value;
};

const isPstn = (address: Address): boolean => address.type === 'tel' && !isVirtualNumber(address.target);

/** Checks on the whole request (voice-and-flows 9.1, steps 2 and 3); the rest is checked per destination by media-app. */
export const admit = async ({ context, identity }: RouteRequest, destinations: Address[]): Promise<void> => {
  if (identity.customer_status !== 'active')
    throw new PlatformError('PERMISSION_DENIED', 'The account is not active; it may not dial out.');
  if (!destinations.some(isPstn)) return;
  if (!(await isIdentityVerified(context.db, identity.customer_id)))
    throw new PlatformError('IDENTITY_VERIFICATION_REQUIRED', 'Telephone numbers need a verified identity.');
};

const create = defineRoute({
  method: 'post',
  path: '/calls',
  operation_id: 'create_call',
  summary: 'Call one or more destinations and run a flow with whoever answers',
  tag: 'Call',
  permission: 'manager',
  body: createBody,
  response: z.object({ calls: z.array(callSchema), groupcalls: z.array(groupcallSchema) }).meta({ id: 'NewCalls' }),
  reasons: [
    'FLOW_NOT_FOUND',
    'INVALID_VARIABLES',
    'INVALID_ACTION_TYPE',
    'INVALID_ANONYMOUS_VALUE',
    'IDENTITY_VERIFICATION_REQUIRED',
    'INSUFFICIENT_BALANCE',
    'RESOURCE_LIMIT_EXCEEDED',
    'STATE_INVALID',
    'REQUEST_TIMEOUT',
    'SERVICE_UNAVAILABLE',
  ],
  async handle(request) {
    const { context, identity, request_id, body } = request;
    const destinations = body.destinations.map(normalizeAddress);
    await admit(request, destinations);
    const { variables, anonymous } = body;
    const order = { source: normalizeAddress(body.source), destinations, variables, anonymous };
    const { customer_id } = identity;
    return withFlow(request, body, flow =>
      context.commands.send('call.create', { customer_id, request_id, body: { ...order, flow } }),
    );
  },
});

/** Orders a hang-up from the node that holds the call. Rejects CALL_STATE_INVALID when none holds it any more. */
const hangUp = async (request: RouteRequest, call: Call, owner: string | undefined): Promise<Call> => {
  const { context, request_id } = request;
  if (owner === undefined) throw new PlatformError('CALL_STATE_INVALID', 'No media node holds this call any more.');
  const { customer_id, id } = call;
  return context.commands.send('call.hangup', { customer_id, request_id, body: { call_id: id }, owner });
};

const hangup = defineRoute({
  method: 'post',
  path: '/calls/{id}/hangup',
  operation_id: 'hangup_call',
  summary: 'Hang one call up',
  tag: 'Call',
  permission: 'manager',
  params: idParams,
  response: callSchema,
  reasons: ['CALL_NOT_FOUND', 'CALL_ALREADY_HANGUP', 'CALL_STATE_INVALID', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { data, owner } = await findLive(calls, request, request.params.id);
    if (data.status === 'hangup') throw new PlatformError('CALL_ALREADY_HANGUP', 'The call has ended already.');
    if (data.status === 'canceling' || data.status === 'terminating') return data;
    return hangUp(request, data, owner);
  },
});

/** Ends a call that is still up; one that ended meanwhile is as good. */
const endFirst = async (request: RouteRequest, call: Call, owner: string | undefined): Promise<Call> => {
  if (call.status === 'hangup') return call;
  return hangUp(request, call, owner).catch((error: unknown) => {
    const over: unknown[] = ['CALL_ALREADY_HANGUP', 'CALL_NOT_FOUND'];
    if (error instanceof PlatformError && over.includes(error.reason)) return call;
    throw error;
  });
};

const remove = defineRoute({
  method: 'delete',
  path: '/calls/{id}',
  operation_id: 'delete_call',
  summary: 'Delete one call; it is hung up first when it is still up',
  tag: 'Call',
  permission: 'manager',
  params: idParams,
  response: callSchema,
  reasons: ['CALL_NOT_FOUND', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { data, owner, live } = await findLive(calls, request, request.params.id);
    const ended = live ? await endFirst(request, data, owner) : data;
    return request.context.live.remove('call', ended, request.request_id);
  },
});

export const callRoutes: Route[] = [create, listLive(calls), getLive(calls), hangup, remove];

import { z } from 'zod';
import { addressSchema, normalizeAddress } from '#contract/address';
import { isId } from '#contract/ids';
import { NEVER } from '#contract/time';
import { defineRoute, type Route } from '../http/route.ts';
import { admit, destinationsField, withFlow } from './calls.ts';
import { crud, scopeOf } from './crud.ts';
import { reference } from './fields.ts';
import { byId } from './filters.ts';
import { actionsField } from './flow-store.ts';
import { defineResource, render } from './resource.ts';
import { mustBeProvider } from './routes.ts';
import { Store } from './store.ts';

const id = z.string().refine(isId, 'must be a UUID').toLowerCase();
const noSource = { type: 'tel', target: '', target_name: '', name: '', detail: '' } as const;

/** Calls placed through one named provider (accounts-and-plumbing 24). */
export const providercalls = defineResource({
  name: 'providercall',
  title: 'ProviderCall',
  path: '/providercalls',
  table: 'providercalls',
  not_found: 'PROVIDERCALL_NOT_FOUND',
  read: 'super',
  write: 'super',
  unset: NEVER,
  told: false,
  tenancy: 'any',
  filters: { provider_id: byId('Only calls through this provider.') },
  fields: {
    provider_id: id.describe('The provider to call through; there is no other when it fails.'),
    flow_id: reference('The flow the calls run. It wins over actions.'),
    actions: actionsField.default([]),
    source: addressSchema.default(noSource).describe('Shown to the callee; it need not be a number of yours.'),
    destinations: destinationsField,
    anonymous: z.enum(['yes', 'no', 'auto']).default('auto').describe('Whether the source is withheld.'),
  },
  request_only: ['actions'],
  changeable: [],
  shown: {
    source: addressSchema,
    call_ids: z.array(z.string()).describe('The calls made.'),
    groupcall_ids: z.array(z.string()).describe('The groupcalls made.'),
  },
});

const create = defineRoute({
  method: 'post',
  path: '/providercalls',
  operation_id: 'create_providercall',
  summary: 'Call through one provider, without routes and failover',
  tag: 'ProviderCall',
  permission: 'super',
  body: providercalls.create,
  response: providercalls.schema,
  reasons: [
    'PROVIDER_NOT_FOUND',
    'FLOW_NOT_FOUND',
    'INVALID_ACTION_TYPE',
    'INVALID_ANONYMOUS_VALUE',
    'IDENTITY_VERIFICATION_REQUIRED',
    'INSUFFICIENT_BALANCE',
    'RESOURCE_LIMIT_EXCEEDED',
    'REQUEST_TIMEOUT',
    'SERVICE_UNAVAILABLE',
  ],
  async handle(request) {
    const { context, identity, request_id, body } = request;
    await mustBeProvider(context.db, body.provider_id);
    const destinations = body.destinations.map(normalizeAddress);
    await admit(request, destinations);
    const { provider_id, anonymous } = body;
    const source = normalizeAddress(body.source);
    const order = { source, destinations, variables: {}, anonymous, provider_id };
    const { customer_id } = identity;
    const { flow_id, calls, groupcalls } = await withFlow(request, body, async flow => ({
      flow_id: flow.id,
      ...(await context.commands.send('call.create', { customer_id, request_id, body: { ...order, flow } })),
    }));
    const made = { call_ids: calls.map(call => call.id), groupcall_ids: groupcalls.map(group => group.id) };
    const values = { provider_id, flow_id, source, destinations, anonymous, ...made };
    return render(providercalls, await new Store(providercalls, context.db).insert(scopeOf(request), values));
  },
});

const { list, get, remove } = crud(providercalls);
export const providercallRoutes: Route[] = [list, create, get, remove];

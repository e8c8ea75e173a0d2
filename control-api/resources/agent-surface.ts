import { z } from 'zod';
import type { Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import { pageOf } from '../http/pagination.ts';
import { PERMISSION } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { agentOperations, agents } from './agents.ts';
import { calls } from './calls.ts';
import { contactAddressRoutes } from './contact-addresses.ts';
import { agentInteractionRoutes } from './contact-interactions.ts';
import { contactRoutes } from './contacts.ts';
import { idParams, scopeOf } from './crud.ts';
import { extensions, withRegistrations } from './extensions.ts';
import { findLive, getLive, listLive } from './live.ts';
import { getMe } from './me.ts';
import { render, type Row } from './resource.ts';
import { agentFileRoutes } from './storage-files.ts';
import { Store } from './store.ts';
import { tagOperations } from './tags.ts';

/** On this surface every agent reaches the whole of its own customer, and a super admin no more than that (12). */
const inOwnCustomer = (request: RouteRequest): RouteRequest => ({
  ...request,
  identity: { ...request.identity, permission: PERMISSION.manager },
});

/** A route of the API as agents have it, whatever their permission: below /service_agents, with a login only. */
const forAgents = (route: Route): Route => ({
  ...route,
  path: `/service_agents${route.path}`,
  operation_id: `service_agents_${route.operation_id}`,
  tag: 'Service Agent',
  permission: 'login',
  reasons: [...route.reasons, 'DIRECT_ACCESS_NOT_SUPPORTED'],
  handle: request => route.handle(inOwnCustomer(request)),
});

/** A route of one agent, for the agent who asks. */
const forMe = ({ params: _params, ...route }: Route, path: string): Route =>
  forAgents({
    ...route,
    path,
    operation_id: route.operation_id.replace('agent', 'me'),
    summary: route.summary.replace('one agent', 'the agent who is logged in'),
    handle: request => route.handle({ ...request, params: { id: request.identity.agent_id } }),
  });

const meRoutes: Route[] = [
  forAgents(getMe),
  forMe(agentOperations.update, '/me'),
  forMe(agentOperations.addresses, '/me/addresses'),
  forMe(agentOperations.password, '/me/password'),
  forMe(agentOperations.status, '/me/status'),
];

const customerSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    detail: z.string(),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'ServiceAgentCustomer', description: 'The account as its agents see it.' });

const getCustomer = defineRoute({
  method: 'get',
  path: '/customer',
  operation_id: 'get_customer',
  summary: 'Get the own account, in short',
  tag: 'Customer',
  permission: 'login',
  response: customerSchema,
  reasons: ['CUSTOMER_NOT_FOUND'],
  async handle({ context, identity }) {
    const row = await context.db<Row>('customers').where('id', identity.customer_id).whereNull('tm_delete').first();
    if (!row) throw new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');
    return render({ schema: customerSchema, unset: NEVER }, row) as z.input<typeof customerSchema>;
  },
});

const callRoutes: Route[] = [
  {
    ...listLive(calls),
    handle: request => {
      const owner_id = request.identity.agent_id;
      return listLive(calls).handle({ ...request, query: { ...(request.query as object), owner_id } });
    },
  },
  {
    ...getLive(calls),
    async handle(request) {
      const { id } = request.params as { id: string };
      const { data } = await findLive(calls, request, id);
      if (data.owner_id === request.identity.agent_id) return data;
      throw new PlatformError('CALL_NOT_FOUND', 'Call not found.');
    },
  },
];

/** The extensions among the addresses of the agent who asks. */
const ownExtensions = async (request: RouteRequest): Promise<Row[]> => {
  const { context, identity } = request;
  const agent = await new Store(agents, context.db).get(scopeOf(request), identity.agent_id);
  const own = (agent['addresses'] as Address[]).filter(({ type }) => type === 'extension');
  return context
    .db<Row>('extensions')
    .where('customer_id', identity.customer_id)
    .whereIn('extension', own.map(({ target }) => target) as never[])
    .whereNull('tm_delete')
    .orderBy('tm_create', 'desc');
};

const extensionRoutes: Route[] = [
  defineRoute({
    method: 'get',
    path: '/extensions',
    operation_id: 'list_extensions',
    summary: 'List the own extensions, with what a softphone needs to register',
    tag: extensions.title,
    permission: 'login',
    response: pageOf(extensions.schema),
    async handle(request) {
      const rows = await ownExtensions(request);
      const shown = rows.map(row => render(extensions, row));
      return { result: await withRegistrations(request.context, shown), next_page_token: '' };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/extensions/{id}',
    operation_id: 'get_extension',
    summary: 'Get one of the own extensions',
    tag: extensions.title,
    permission: 'login',
    params: idParams,
    response: extensions.schema,
    reasons: ['EXTENSION_NOT_FOUND'],
    async handle(request) {
      const row = (await ownExtensions(request)).find(({ id }) => id === request.params.id);
      const [shown] = await withRegistrations(request.context, row ? [render(extensions, row)] : []);
      if (shown) return shown;
      throw new PlatformError('EXTENSION_NOT_FOUND', 'Extension not found.');
    },
  }),
];

/** What agents do (accounts-and-plumbing 12). */
export const serviceAgentRoutes: Route[] = [
  ...meRoutes,
  ...[
    agentOperations.list,
    agentOperations.get,
    getCustomer,
    ...callRoutes,
    ...extensionRoutes,
    ...agentFileRoutes,
    tagOperations.list,
    tagOperations.get,
    ...contactRoutes,
    ...contactAddressRoutes,
    ...agentInteractionRoutes,
  ].map(forAgents),
];

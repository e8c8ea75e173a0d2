import { z } from 'zod';
import { isVirtualNumber } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import { mustPay } from '../billing/funds.ts';
import { charge, lockAccountOf } from '../billing/ledger.ts';
import { mustFit, mustHaveRoom } from '../billing/limits.ts';
import { queryOf } from '../billing/query.ts';
import type { Transaction } from '../db.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { detailField, nameField, reference } from './fields.ts';
import { byId, byText, byWord } from './filters.ts';
import { isIdentityVerified } from './customer.ts';
import { mustBeFlow } from './flow-store.ts';
import { changesOf, defineResource, render, type Row } from './resource.ts';
import { Store, tellUpdated } from './store.ts';

const fields = {
  number: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, 'must be an E.164 number')
    .describe('E.164. Virtual numbers begin with +899.'),
  type: z.enum(['normal', 'virtual']).optional().describe('Follows from the number when left out.'),
  call_flow_id: reference('Run by incoming calls.'),
  message_flow_id: reference('Run by incoming messages.'),
  name: nameField,
  detail: detailField,
};

/** Numbers that calls arrive on (accounts-and-plumbing 15). */
export const numbers = defineResource({
  name: 'number',
  title: 'Number',
  path: '/numbers',
  table: 'numbers',
  not_found: 'NUMBER_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  refusals: [
    'FLOW_NOT_FOUND',
    'IDENTITY_VERIFICATION_REQUIRED',
    'INSUFFICIENT_BALANCE',
    'RESOURCE_LIMIT_EXCEEDED',
    'SERVICE_UNAVAILABLE',
  ],
  fields,
  changeable: ['call_flow_id', 'message_flow_id', 'name', 'detail'],
  filters: {
    number: byText('Only this number.'),
    type: byWord(['normal', 'virtual'], 'Only those of this type.'),
    call_flow_id: byId('Only those whose callers run this flow.'),
  },
  shown: {
    type: z.enum(['normal', 'virtual']).describe('Virtual numbers are routed inside the platform only.'),
    status: z.enum(['active', 'deleted']).describe('Whether it takes calls.'),
    t38_enabled: z.boolean().describe('Whether it takes faxes.'),
    emergency_enabled: z.boolean().describe('Whether emergency services know its address.'),
    metadata: z.object({ rtp_debug: z.boolean() }).describe('Switches of the platform.'),
    tm_purchase: z.string().describe('When it was bought; never for virtual numbers.'),
    tm_renew: z.string().describe('When it was last renewed; never for virtual numbers.'),
  },
});

const invalid = (message: string) => new PlatformError('INVALID_ARGUMENT', message);

interface Purchase {
  request: RouteRequest;
  number: string;
  type: 'normal' | 'virtual';
}

/** What must hold before a number is had, in this order (15.3, rows 2 to 6). */
const PURCHASE_RULES: ((purchase: Purchase) => Promise<void> | void)[] = [
  ({ number, type }) => {
    if (number.startsWith('+899') !== (type === 'virtual')) throw invalid(`type: ${number} is no ${type} number.`);
  },
  async ({ request: { context, identity }, type }) => {
    if (type === 'normal' && !(await isIdentityVerified(context.db, identity.customer_id)))
      throw new PlatformError('IDENTITY_VERIFICATION_REQUIRED', 'Normal numbers need a verified identity.');
  },
  async ({ request: { context, identity }, type }) => {
    if (type === 'normal') await mustPay(context.db, context.rates, identity.customer_id, 'number');
  },
  ({ number, type }) => {
    if (type === 'virtual' && !isVirtualNumber(number))
      throw invalid('number: a virtual number is +899 and nine digits, outside +899000.');
  },
  async ({ request: { context, identity }, type }) => {
    if (type === 'virtual') await mustHaveRoom(context.db, identity.customer_id, 'virtual_numbers');
  },
  async ({ request: { context }, number }) => {
    if (await context.db('numbers').where({ number }).whereNull('tm_delete').first('id'))
      throw new PlatformError('ALREADY_EXISTS', 'Somebody has this number already.');
  },
  ({ request: { context, identity }, type }) => {
    if (type === 'normal' && context.carrier.manual && !isSuperAdmin(identity))
      throw new PlatformError('PERMISSION_DENIED', 'Only the operator of this installation brings normal numbers.');
  },
];

/** What a new number costs is charged with it; virtual ones cost nothing, but plans limit them. */
const acquire =
  ({ context }: RouteRequest) =>
  async (trx: Transaction, { id, customer_id, type }: Row): Promise<void> => {
    if (type === 'virtual') return mustFit(trx, customer_id, 'virtual_numbers');
    const query = queryOf(trx);
    const account = await lockAccountOf(query, customer_id);
    const number = { reference_type: 'number', reference_id: id, cost_type: 'number' } as const;
    if (account) await charge(query, context.rates, account, number);
  };

/** Orders a normal number at the carrier; what it is called there is kept with it. */
const ordered = async ({ request: { context }, number, type }: Purchase): Promise<Record<string, unknown>> => {
  if (type === 'virtual') return {};
  const now = timestamp();
  const { carrier } = context;
  return {
    carrier: carrier.name,
    carrier_reference: await carrier.order(number),
    tm_create: now,
    tm_purchase: now,
    tm_renew: now,
  };
};

const mustBeFlows = async ({ context, identity }: RouteRequest, body: Record<string, unknown>): Promise<void> => {
  await mustBeFlow(context.db, identity.customer_id, body['call_flow_id']);
  await mustBeFlow(context.db, identity.customer_id, body['message_flow_id']);
};

/** Takes a deleted flow off the numbers that name it, and tells so (15.3). */
export const clearFlow = async (
  trx: Transaction,
  customerId: string,
  flowId: string,
  request_id: string,
): Promise<void> => {
  for (const column of ['call_flow_id', 'message_flow_id']) {
    const named = trx<Row>('numbers')
      .where({ customer_id: customerId, [column]: flowId })
      .whereNull('tm_delete');
    const rows = await named.update({ [column]: EMPTY_ID, tm_update: timestamp() }).returning('*');
    await tellUpdated(trx, numbers, rows, request_id);
  }
};

const flowIds = defineRoute({
  method: 'put',
  path: '/numbers/{id}/flow_ids',
  operation_id: 'update_number_flow_ids',
  summary: 'Change the flows of one number',
  tag: 'Number',
  permission: 'manager',
  params: idParams,
  body: changesOf(fields, ['call_flow_id', 'message_flow_id']),
  response: numbers.schema,
  reasons: ['NUMBER_NOT_FOUND', 'FLOW_NOT_FOUND'],
  async handle(request) {
    await mustBeFlows(request, request.body);
    const store = new Store(numbers, request.context.db);
    return render(numbers, await store.update(scopeOf(request), request.params.id, request.body));
  },
});

const metadata = defineRoute({
  method: 'put',
  path: '/numbers/{id}/metadata',
  operation_id: 'update_number_metadata',
  summary: 'Change the switches of one number',
  tag: 'Number',
  permission: 'manager',
  params: idParams,
  body: z.object({
    rtp_debug: z.boolean().describe('Whether media of its calls is written down for people to look at.'),
  }),
  response: numbers.schema,
  reasons: ['NUMBER_NOT_FOUND'],
  async handle(request) {
    const store = new Store(numbers, request.context.db);
    return render(numbers, await store.update(scopeOf(request), request.params.id, { metadata: request.body }));
  },
});

const routes = crud(numbers, {
  async prepare(request, body) {
    const type = body.type ?? (body.number.startsWith('+899') ? 'virtual' : 'normal');
    const purchase = { request, number: body.number, type };
    for (const rule of PURCHASE_RULES) await rule(purchase);
    await mustBeFlows(request, body);
    return { ...body, type, status: 'active', ...(await ordered(purchase)) };
  },
  creating: request => ({ before: acquire(request) }),
  async revise(request, body) {
    await mustBeFlows(request, body);
    return body;
  },
  removal: { status: 'deleted' },
  /** The number is not ours any more; the job tries again when the carrier is away now. */
  async removed({ context }) {
    context.numberReleases.sweep();
  },
});

export const numberRoutes: Route[] = [...Object.values(routes), flowIds, metadata];

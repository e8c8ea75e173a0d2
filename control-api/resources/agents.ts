import { z } from 'zod';
import { addressSchema, type Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { isId } from '#contract/ids';
import { NEVER } from '#contract/time';
import { hashPassword, newDirectHash } from '../auth/secrets.ts';
import type { Transaction } from '../db.ts';
import { because } from '../http/bind.ts';
import { isSuperAdmin, PERMISSION } from '../http/permit.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { agentAddresses, assignAddresses } from './agent-addresses.ts';
import { crud, scopeOf } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { detailField, nameField } from './fields.ts';
import { byWord } from './filters.ts';
import { defineResource, render, type Row } from './resource.ts';
import { setter } from './setter.ts';
import { Store, type Within } from './store.ts';

const AGENT_STATUSES = ['available', 'away', 'busy', 'offline', 'ringing', ''] as const;
const RING_METHODS_OF_AGENTS = ['ringall', 'linear'] as const;
const PERMISSIONS = [0, 1, 15, 16, 32, 64, 240, 65535];
const PROJECT_BITS = PERMISSION.project;
const MOST_FILTER_TAGS = 100;

const isPermission = (value: number): boolean => PERMISSIONS.includes(value);
const isRingMethod = (text: string): boolean => (RING_METHODS_OF_AGENTS as readonly string[]).includes(text);

/** The list of a query, or nothing when it is empty or holds something else. */
const tagIdsOf = (text: string): string[] => text.split(',').map(id => id.trim().toLowerCase());
const areTagIds = (text: string): boolean => {
  const ids = tagIdsOf(text);
  return ids.length <= MOST_FILTER_TAGS && ids.every(isId);
};

const tagIdsFilter = z
  .string()
  .refine(areTagIds, because('INVALID_TAG_IDS', `must be 1 to ${MOST_FILTER_TAGS} UUIDs with commas between`))
  .optional()
  .describe('Only those with at least one of these tags; ids with commas between.');

/** A password as an agent writes it; bcrypt reads no more than 72 bytes. */
const passwordField = z
  .string()
  .min(1, 'must not be empty')
  .refine(text => Buffer.byteLength(text) <= 72, 'must be at most 72 bytes')
  .describe('What the agent logs in with.');

const fields = {
  username: z
    .string()
    .max(255)
    .refine(text => z.email().safeParse(text).success, because('INVALID_USERNAME_FORMAT', 'must be an e-mail address'))
    .describe('An e-mail address; unique among all agents.'),
  password: passwordField,
  name: nameField.unwrap(),
  detail: detailField.unwrap(),
  ring_method: z
    .string()
    .refine(isRingMethod, because('INVALID_RING_METHOD', 'must be ringall or linear'))
    .meta({ enum: [...RING_METHODS_OF_AGENTS], description: 'ringall: all addresses at once. linear: one by one.' }),
  permission: z
    .number()
    .int()
    .refine(isPermission, `must be one of ${PERMISSIONS.join(', ')}`)
    .meta({ enum: PERMISSIONS, description: '16 agent, 32 admin, 64 manager; 1 is a project super admin.' }),
  tag_ids: z
    .array(z.uuid().overwrite(text => text.toLowerCase()))
    .max(1000)
    .describe('Queues offer calls to agents who share a tag with them.'),
  addresses: z.array(addressSchema).max(100).describe('Where the agent is reached: extension, tel or sip.'),
};

/** People who log in and take calls (accounts-and-plumbing 11). */
export const agents = defineResource({
  name: 'agent',
  title: 'Agent',
  path: '/agents',
  table: 'agents',
  not_found: 'AGENT_NOT_FOUND',
  limited: 'agents',
  duplicate: 'AGENT_ALREADY_EXISTS',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  refusals: ['AGENT_ALREADY_EXISTS', 'ADDRESS_ALREADY_ASSIGNED', 'INVALID_USERNAME_FORMAT', 'INVALID_RING_METHOD'],
  filters: { tag_ids: tagIdsFilter, status: byWord(AGENT_STATUSES, 'Only those with this status.') },
  narrow: {
    tag_ids: (rows, value) => void rows.whereRaw('jsonb_exists_any(tag_ids, ?)', [tagIdsOf(String(value))]),
  },
  fields,
  changeable: ['name', 'detail', 'ring_method'],
  request_only: ['password'],
  shown: {
    status: z.enum(AGENT_STATUSES).describe('Whether calls of queues reach the agent: only when available.'),
    direct_hash: z.string().describe('Forms the direct SIP URI.'),
  },
});

/** Project bits reach beyond the customer, so only a super admin gives them away (6.3). */
const mayGrant = ({ identity }: RouteRequest, permission: number): void => {
  if ((permission & PROJECT_BITS) !== 0 && !isSuperAdmin(identity))
    throw new PlatformError('PERMISSION_DENIED', 'Only a project super admin gives project permissions.');
};

const isAdmin = (permission: unknown): boolean => (Number(permission) & PERMISSION.admin) !== 0;

/**
 * Refuses a change that leaves a customer without an admin (11.3). Every told write of a customer takes the lock on its
 * sequence of events first, so two that take away the last two admins come here one after the other.
 */
const mustKeepAnAdmin = async (trx: Transaction, row: Row): Promise<void> => {
  const admins = trx('agents')
    .where('customer_id', row.customer_id)
    .whereNull('tm_delete')
    .whereRaw('permission & ? <> 0', [PERMISSION.admin]);
  if (!(await admins.first('id')))
    throw new PlatformError('STATE_INVALID', 'This is the only admin of the account; make another one first.');
};

const forget: Within = async (trx, row) => {
  await trx('agent_addresses').where('agent_id', row.id).delete();
  if (isAdmin(row['permission'])) await mustKeepAnAdmin(trx, row);
};

const { list, get, create, update, remove } = crud(agents, { removing: () => ({ within: forget }) });

const createAgent: Route = {
  ...create,
  async handle(request) {
    const { password, addresses, ...body } = request.body as z.output<typeof agents.create>;
    mayGrant(request, body.permission);
    const scope = scopeOf(request);
    const own = await agentAddresses(request.context.db, scope.customer_id, addresses);
    const values = { ...body, addresses: own, password: await hashPassword(password), direct_hash: newDirectHash() };
    const within: Within = (trx, row) => assignAddresses(trx, row, own);
    return render(agents, await new Store(agents, request.context.db).insert(scope, values, { within }));
  },
};

const setters = {
  addresses: setter(agents, {
    field: 'addresses',
    summary: 'Replace the addresses of one agent',
    reasons: ['ADDRESS_ALREADY_ASSIGNED'],
    body: { addresses: fields.addresses },
    async change({ context, identity, body }) {
      const addresses: Address[] = await agentAddresses(context.db, identity.customer_id, body.addresses);
      return { values: { addresses }, within: (trx, row) => assignAddresses(trx, row, addresses) };
    },
  }),
  tag_ids: setter(agents, {
    field: 'tag_ids',
    summary: 'Replace the tags of one agent',
    body: { tag_ids: fields.tag_ids },
  }),
  status: setter(agents, {
    field: 'status',
    summary: 'Say whether one agent takes calls',
    permission: 'own',
    body: { status: z.enum(AGENT_STATUSES) },
    change: async ({ body }) => ({ values: body, told: 'status_updated' }),
  }),
  permission: setter(agents, {
    field: 'permission',
    summary: 'Change what one agent may do',
    reasons: ['STATE_INVALID'],
    body: { permission: fields.permission },
    async change(request) {
      mayGrant(request, request.body.permission);
      return { values: request.body, within: mustKeepAnAdmin };
    },
  }),
  password: setter(agents, {
    field: 'password',
    summary: 'Set the password of one agent',
    body: { password: passwordField },
    change: async ({ body }) => ({ values: { password: await hashPassword(body.password) } }),
  }),
};

/** The routes of agents, by what they do. */
export const agentOperations = {
  list: { ...list, reasons: [...list.reasons, 'INVALID_TAG_IDS'] },
  create: createAgent,
  get: { ...get, permission: 'own' },
  update: { ...update, permission: 'own' },
  remove: { ...remove, reasons: [...remove.reasons, 'STATE_INVALID'] },
  ...setters,
} satisfies Record<string, Route>;

export const agentRoutes: Route[] = [...Object.values(agentOperations), ...regenerateHash(agents)];

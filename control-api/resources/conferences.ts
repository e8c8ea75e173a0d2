import { z } from 'zod';
import { PLANS } from '#contract/billing';
import { CONFERENCE_TYPES, conferenceSchema, type Conference } from '#contract/conference';
import { PlatformError } from '#contract/errors';
import { isSet, newId } from '#contract/ids';
import { CONFERENCE_STATUSES } from '#contract/machines/conference';
import { NEVER } from '#contract/time';
import { newDirectHash } from '../auth/secrets.ts';
import { planIsFull, planOf } from '../billing/limits.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import type { Found } from '../live.ts';
import { idParams } from './crud.ts';
import { detailField, nameField, reference } from './fields.ts';
import { byWord } from './filters.ts';
import { mustBeFlow } from './flow-store.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';
import { changesOf } from './resource.ts';

/** Rooms that calls join (voice-and-flows 13). */
export const conferences: LiveResource<'conference'> = {
  kind: 'conference',
  title: 'Conference',
  path: '/conferences',
  not_found: 'CONFERENCE_NOT_FOUND',
  schema: conferenceSchema,
  filters: {
    type: byWord(CONFERENCE_TYPES, 'Only those of this type.'),
    status: byWord(CONFERENCE_STATUSES, 'Only those with this status.'),
  },
};

/** The most that `data` may hold, as JSON. */
const MOST_DATA_BYTES = 64 * 1024;

/** A timeout too short to be meant: what it is stored as (13.1), in seconds. */
const SHORTEST_TIMEOUT = 60;
const DAY = 86_400;

const settings = {
  name: nameField,
  detail: detailField,
  data: z
    .record(z.string(), z.unknown())
    .refine(data => Buffer.byteLength(JSON.stringify(data), 'utf8') <= MOST_DATA_BYTES, 'must have at most 64 KB')
    .default({})
    .describe('Yours; kept as given.'),
  timeout: z
    .int()
    .min(0)
    .overwrite(seconds => (seconds > 0 && seconds < SHORTEST_TIMEOUT ? DAY : seconds))
    .default(0)
    .describe('Seconds until it is ended; 0: never. 1 to 59 mean a day.'),
  pre_flow_id: reference('Run by each joining call before it enters.'),
  post_flow_id: reference('Kept; not run.'),
};

const createBody = z.object({
  id: reference('An id of your own; left out, the platform makes one.'),
  type: z.enum(CONFERENCE_TYPES).describe('It cannot be changed later.'),
  ...settings,
});

const changeBody = z.object(changesOf(settings, Object.keys(settings)).shape);

const mustBeFlows = async ({ context }: RouteRequest, customerId: string, body: object): Promise<void> => {
  const { pre_flow_id, post_flow_id } = body as { pre_flow_id?: string; post_flow_id?: string };
  await Promise.all([pre_flow_id, post_flow_id].map(id => mustBeFlow(context.db, customerId, id)));
};

/** The id of the new conference. Rejects ALREADY_EXISTS when a client's own id is taken by anybody. */
const freshId = async ({ context }: RouteRequest, wanted: string): Promise<string> => {
  if (!isSet(wanted)) return newId();
  if (await context.live.find('conference', undefined, wanted))
    throw new PlatformError('ALREADY_EXISTS', 'A conference with this id exists already.');
  return wanted;
};

/** Rejects RESOURCE_LIMIT_EXCEEDED when as many rooms are open as the plan allows (accounts-and-plumbing 14.5). */
const mustHaveRoom = async ({ db, live }: RouteRequest['context'], customerId: string): Promise<void> => {
  const plan = await planOf(db, customerId);
  const most = PLANS[plan].conferences;
  if (most === Infinity) return;
  const open = (status: Conference['status']) =>
    live.list('conference', customerId, { page_size: most, only: { status } });
  const pages = await Promise.all([open('starting'), open('progressing')]);
  if (pages.reduce((sum, { result }) => sum + result.length, 0) >= most) throw planIsFull(plan, 'conferences');
};

const create = defineRoute({
  method: 'post',
  path: '/conferences',
  operation_id: 'create_conference',
  summary: 'Open a conference that calls can join',
  tag: 'Conference',
  permission: 'manager',
  body: createBody,
  response: conferenceSchema,
  reasons: ['FLOW_NOT_FOUND', 'ALREADY_EXISTS', 'RESOURCE_LIMIT_EXCEEDED', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { context, identity, request_id, body } = request;
    const { customer_id } = identity;
    const [id] = await Promise.all([freshId(request, body.id), mustBeFlows(request, customer_id, body)]);
    await mustHaveRoom(context, customer_id);
    const order = { ...body, id, direct_hash: newDirectHash() };
    return context.commands.send('conference.create', { customer_id, request_id, body: order });
  },
});

/** Orders a change from the node that holds the conference. Rejects STATE_INVALID when it is over. */
const change = async (
  { context, request_id }: RouteRequest,
  { data, owner, live }: Found<'conference'>,
  changes: Partial<Conference>,
): Promise<Conference> => {
  if (!live || owner === undefined) throw new PlatformError('STATE_INVALID', 'The conference is over.');
  const body = { conference_id: data.id, changes };
  return context.commands.send('conference.update', { customer_id: data.customer_id, request_id, body, owner });
};

const update = defineRoute({
  method: 'put',
  path: '/conferences/{id}',
  operation_id: 'update_conference',
  summary: 'Change one conference; what is left out stays as it is',
  tag: 'Conference',
  permission: 'manager',
  params: idParams,
  body: changeBody,
  response: conferenceSchema,
  reasons: ['CONFERENCE_NOT_FOUND', 'FLOW_NOT_FOUND', 'STATE_INVALID', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const found = await findLive(conferences, request, request.params.id);
    await mustBeFlows(request, found.data.customer_id, request.body);
    return change(request, found, request.body);
  },
});

/** Both spellings are served (accounts-and-plumbing 17). */
const regenerate = (spelling: 'direct-hash-regenerate' | 'direct_hash_regenerate'): Route =>
  defineRoute({
    method: 'post',
    path: `/conferences/{id}/${spelling}`,
    operation_id: `conference_${spelling.replaceAll('-', '_')}${spelling.includes('-') ? '' : '_underscored'}`,
    summary: 'Give one conference a new direct hash; the old one is dead at once',
    tag: 'Conference',
    permission: 'manager',
    params: idParams,
    response: conferenceSchema,
    reasons: ['CONFERENCE_NOT_FOUND', 'STATE_INVALID', 'REQUEST_TIMEOUT'],
    async handle(request) {
      const found = await findLive(conferences, request, request.params.id);
      return change(request, found, { direct_hash: newDirectHash() });
    },
  });

/** Ends what is still up; a conference that ended meanwhile is looked up again. */
const ended = async (request: RouteRequest, { data, owner }: Found<'conference'>): Promise<Conference> => {
  const { context, request_id } = request;
  const given = { customer_id: data.customer_id, request_id, body: { conference_id: data.id } };
  const order = owner === undefined ? given : { ...given, owner };
  return context.commands.send('conference.delete', order).catch(async (error: unknown) => {
    const again = await context.live.find('conference', data.customer_id, data.id);
    if (!(error instanceof PlatformError) || !again || again.live) throw error;
    return again.data.tm_delete === NEVER ? context.live.remove('conference', again.data, request_id) : again.data;
  });
};

const remove = defineRoute({
  method: 'delete',
  path: '/conferences/{id}',
  operation_id: 'delete_conference',
  summary: 'Delete one conference and put everybody out; deleting twice is no error',
  tag: 'Conference',
  permission: 'manager',
  params: idParams,
  response: conferenceSchema,
  reasons: ['CONFERENCE_NOT_FOUND', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { context, identity, request_id, params } = request;
    const customerId = isSuperAdmin(identity) ? undefined : identity.customer_id;
    const found = await context.live.find('conference', customerId, params.id);
    if (!found) throw new PlatformError('CONFERENCE_NOT_FOUND', 'Conference not found.');
    if (found.data.tm_delete !== NEVER) return found.data;
    return found.live ? ended(request, found) : context.live.remove('conference', found.data, request_id);
  },
});

export const conferenceRoutes: Route[] = [
  create,
  listLive(conferences),
  getLive(conferences),
  update,
  remove,
  regenerate('direct-hash-regenerate'),
  regenerate('direct_hash_regenerate'),
];

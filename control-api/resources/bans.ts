import { isIP } from 'node:net';
import { z } from 'zod';
import { banSchema, sourceOf } from '#contract/ban';
import { PlatformError } from '#contract/errors';
import { timestamp, toRfc3339 } from '#contract/time';
import { listQuery, pageOf } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { idParams } from './crud.ts';

const list = defineRoute({
  method: 'get',
  path: '/bans',
  operation_id: 'list_bans',
  summary: 'List the sources of SIP messages that get no answer, newest first',
  tag: 'Ban',
  permission: 'super',
  query: listQuery(),
  response: pageOf(banSchema),
  async handle({ context, query }) {
    const before = query.page_token ?? timestamp();
    const bans = (await context.bans.list()).filter(ban => ban.tm_create < before);
    const result = bans.slice(0, query.page_size);
    const last = result.at(-1);
    return { result, next_page_token: bans.length > result.length && last ? toRfc3339(last.tm_create) : '' };
  },
});

const get = defineRoute({
  method: 'get',
  path: '/bans/{id}',
  operation_id: 'get_ban',
  summary: 'Get one ban',
  tag: 'Ban',
  permission: 'super',
  params: idParams,
  response: banSchema,
  reasons: ['BAN_NOT_FOUND'],
  handle: ({ context, params }) => context.bans.get(params.id),
});

const create = defineRoute({
  method: 'post',
  path: '/bans',
  operation_id: 'create_ban',
  summary: 'Give a source of SIP messages no answer any more, for a while',
  tag: 'Ban',
  permission: 'super',
  body: z.object({
    address: z
      .string()
      .refine(text => isIP(text) !== 0, 'must be an IP address')
      .describe('The address; of IPv6 its whole network of 64 bits is meant.'),
    detail: z.string().max(200).default('').describe('Why, for whoever reads it later.'),
    duration_s: z.int().min(1).max(86_400).default(3600).describe('How long, in seconds.'),
  }),
  response: banSchema,
  reasons: ['ALREADY_EXISTS', 'REQUEST_TIMEOUT', 'SERVICE_UNAVAILABLE'],
  async handle({ context, identity, request_id, body }) {
    const known = await context.bans.list();
    if (known.some(ban => ban.source === sourceOf(body.address)))
      throw new PlatformError('ALREADY_EXISTS', 'This source is banned already.');
    const order = { customer_id: identity.customer_id, request_id, body };
    return context.commands.send('ban.create', order);
  },
});

const lift = defineRoute({
  method: 'delete',
  path: '/bans/{id}',
  operation_id: 'delete_ban',
  summary: 'Lift a ban; the source is heard again at once',
  tag: 'Ban',
  permission: 'super',
  params: idParams,
  response: banSchema,
  reasons: ['BAN_NOT_FOUND', 'REQUEST_TIMEOUT', 'SERVICE_UNAVAILABLE'],
  async handle({ context, identity, request_id, params }) {
    await context.bans.get(params.id);
    const order = { customer_id: identity.customer_id, request_id, body: { ban_id: params.id } };
    return context.commands.send('ban.lift', order);
  },
});

/** Sources that media-app keeps away, for super admins. */
export const banRoutes: Route[] = [list, create, get, lift];

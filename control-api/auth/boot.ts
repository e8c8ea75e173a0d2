import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import type { Db } from '../db.ts';
import { DIRECT_CHILDREN, type Bootable } from '../http/direct-operations.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Context } from '../http/context.ts';
import type { Row } from '../resources/resource.ts';
import { themeSchema, webchatWidgets } from '../resources/webchat-widgets.ts';
import { hashOfToken } from './secrets.ts';
import { signDirectToken, type Bound } from './token.ts';

interface Direct {
  customer_id: string;
  resource_type: Bootable;
  resource_id: string;
  hash: string;
}

const bootSchema = z
  .object({
    token: z.string().describe('Sent like a login token.'),
    type: z.literal('direct'),
    resource_type: z.enum(Object.keys(DIRECT_CHILDREN) as [Bootable, ...Bootable[]]),
    resource_id: z.uuid().describe('What the direct hash leads to.'),
    customer_id: z.uuid(),
    expire: z.string().describe('4 hours after the issue, RFC 3339.'),
    allowed_resource_types: z.array(z.string()).describe('What the token may create one of.'),
    allowed_resource_id: z.uuid().describe('The one resource it may act on; the one it creates gets this id.'),
    scope_version: z.int().describe('Tokens of another version are refused.'),
    resource_data: z
      .object({ public_display_config: themeSchema })
      .optional()
      .describe('How the chat window looks; only of a webchat_widget that has a theme.'),
  })
  .meta({ id: 'Boot', description: 'A token for one resource, for programs of the public.' });

const refused = (): PlatformError => new PlatformError('INVALID_ARGUMENT', 'There is nothing to boot here.');

/** The record of a direct hash whose resource can be booted and whose customer is active; a record lives as long as its resource. */
const findDirect = async (db: Db, where: Record<string, string>): Promise<Direct> => {
  const direct = await db('directs')
    .join('customers', 'customers.id', 'directs.customer_id')
    .where(where)
    .where('customers.status', 'active')
    .whereIn('directs.resource_type', Object.keys(DIRECT_CHILDREN))
    .first<Direct | undefined>('directs.customer_id', 'directs.resource_type', 'directs.resource_id', 'directs.hash');
  if (!direct) throw refused();
  return direct;
};

/** What a program of the public shows of the resource (8.5). */
const displayOf = async (db: Db, { resource_type, resource_id }: Direct) => {
  if (resource_type !== 'webchat_widget') return {};
  const widget = await db<Row>(webchatWidgets.table).where('id', resource_id).first('theme_config');
  const config = themeSchema.safeParse(widget?.['theme_config']);
  return config.success ? { resource_data: { public_display_config: config.data } } : {};
};

/** A token for the resource of a direct hash. The child's id is chosen here; the child is made by whoever has the token. */
const bootTo = async (
  context: Context,
  direct: Direct,
  allowed_resource_id: string,
): Promise<z.input<typeof bootSchema>> => {
  const { customer_id, resource_type, resource_id, hash } = direct;
  const bound = {
    customer_id,
    resource_type,
    resource_id,
    allowed_resource_types: [DIRECT_CHILDREN[resource_type]],
    allowed_resource_id,
    scope_version: context.scopeVersion,
    hash_digest: hashOfToken(hash),
  };
  const { token, expire } = await signDirectToken(context.tokenSecret, bound);
  const { hash_digest: _digest, ...shown } = bound;
  return { token, type: 'direct', ...shown, resource_type, expire, ...(await displayOf(context.db, direct)) };
};

const boot = defineRoute({
  method: 'post',
  path: '/auth/boot',
  surface: 'auth',
  operation_id: 'boot',
  summary: 'Get a direct token for a direct hash',
  tag: 'Auth',
  permission: 'public',
  body: z.object({
    direct_hash: z
      .string()
      .regex(/^direct\.\S{1,255}$/)
      .describe('With its prefix `direct.`.'),
  }),
  response: bootSchema,
  async handle({ context, body }) {
    return bootTo(context, await findDirect(context.db, { hash: body.direct_hash }), newId());
  },
});

const isSameHash = (bound: Bound, hash: string): boolean =>
  timingSafeEqual(Buffer.from(bound.hash_digest), Buffer.from(hashOfToken(hash)));

const refresh = defineRoute({
  method: 'post',
  path: '/auth/boot/refresh',
  surface: 'auth',
  operation_id: 'boot_refresh',
  summary: 'Get a new direct token for the same resource; the credential is a direct token that is still good',
  tag: 'Auth',
  permission: 'public',
  bare: [401],
  response: bootSchema,
  async handle({ context, incoming }) {
    const bound = await context.authenticator.bound(incoming);
    const { resource_type, resource_id } = bound;
    const direct = await findDirect(context.db, { resource_type, resource_id });
    if (!isSameHash(bound, direct.hash)) throw refused();
    return bootTo(context, direct, bound.allowed_resource_id);
  },
});

export const bootRoutes: Route[] = [boot, refresh];

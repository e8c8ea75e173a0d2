import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { freezeCustomer, recoverCustomer, removeCustomer } from '../customers/states.ts';
import type { Db } from '../db.ts';
import type { Identity } from '../http/authenticate.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { publicCustomerSchema, showCustomer } from '../resources/customer.ts';
import type { Row } from '../resources/resource.ts';
import { passwordMatches } from './secrets.ts';

const PHRASE = 'DELETE';

const refused = (): PlatformError => new PlatformError('INVALID_ARGUMENT', 'The confirmation is missing or wrong.');

/** Borrowed power does not close accounts (8.9). */
const mustBeOwn = ({ kind }: Identity): void => {
  if (kind === 'delegate') throw new PlatformError('PERMISSION_DENIED', 'A delegate token cannot close accounts.');
};

const bodySchema = z.object({
  password: z.string().max(1024).optional().describe('The password of the agent that asks.'),
  confirmation_phrase: z.string().optional().describe('Exactly DELETE; the only way for an accesskey.'),
  immediate: z.boolean().default(false).describe('True: deleted at once, beyond recovery.'),
});

/** Exactly one of password and phrase, and it must be right (8.9). */
const mustConfirm = async (
  db: Db,
  identity: Identity,
  { password, confirmation_phrase }: z.output<typeof bodySchema>,
): Promise<void> => {
  if ((password === undefined) === (confirmation_phrase === undefined)) throw refused();
  if (password === undefined) {
    if (confirmation_phrase !== PHRASE) throw refused();
    return;
  }
  if (identity.agent_id === '') throw refused();
  const agent = await db('agents').where({ id: identity.agent_id }).first<{ password: string } | undefined>('password');
  if (!(await passwordMatches(password, agent?.password))) throw refused();
};

/** Whatever goes wrong behind it is a 400 here, as a wrong state is (8.9). */
const orRefused = async (request: RouteRequest, work: () => Promise<Row>): Promise<ReturnType<typeof showCustomer>> => {
  const { context, request_id } = request;
  try {
    return showCustomer(await work());
  } catch (error) {
    if (!(error instanceof PlatformError)) context.log.error({ err: error, request_id }, 'unregister failed');
    throw refused();
  }
};

const close = defineRoute({
  method: 'post',
  path: '/auth/unregister',
  surface: 'auth',
  operation_id: 'unregister',
  summary: 'Close the own account: frozen now, deleted in 30 days, or deleted at once',
  tag: 'Auth',
  permission: 'admin',
  gate: 'login',
  bare: [403],
  body: bodySchema,
  response: publicCustomerSchema,
  async handle(request) {
    const { context, identity, body, request_id } = request;
    mustBeOwn(identity);
    const work = body.immediate ? removeCustomer : freezeCustomer;
    return orRefused(request, async () => {
      await mustConfirm(context.db, identity, body);
      return work(context, identity.customer_id, request_id);
    });
  },
});

const recover = defineRoute({
  method: 'delete',
  path: '/auth/unregister',
  surface: 'auth',
  operation_id: 'unregister_cancel',
  summary: 'Take the deletion of the own account back while it is frozen',
  tag: 'Auth',
  permission: 'admin',
  gate: 'login',
  bare: [403],
  response: publicCustomerSchema,
  async handle(request) {
    const { context, identity, request_id } = request;
    mustBeOwn(identity);
    return orRefused(request, () => recoverCustomer(context, identity.customer_id, request_id));
  },
});

export const unregisterRoutes: Route[] = [close, recover];

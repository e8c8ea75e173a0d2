import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import type { Db } from '../db.ts';
import type { CustomerStatus } from '../http/authenticate.ts';
import { pass } from '../http/gate.ts';
import { defineRoute, Reply, type Route } from '../http/route.ts';
import { passwordMatches } from './secrets.ts';
import { signAgentToken, TOKEN_LIFETIME_S } from './token.ts';

type AgentRow = Record<string, unknown> & { password: string; status_of_customer: CustomerStatus };

/** The public agent: what a token holds of it (accounts-and-plumbing 4.3, 11.1). */
const PUBLIC_FIELDS = [
  'id',
  'customer_id',
  'username',
  'name',
  'detail',
  'ring_method',
  'status',
  'permission',
  'tag_ids',
  'addresses',
  'direct_hash',
  'tm_create',
  'tm_update',
  'tm_delete',
];

const publicAgent = (row: AgentRow): Record<string, unknown> =>
  Object.fromEntries(PUBLIC_FIELDS.map(name => [name, row[name] ?? (name.startsWith('tm_') ? NEVER : '')]));

/** The live agent of a user name; of a deleted customer the deleted one too, so that login can say so (8.4). */
const findAgent = (db: Db, username: string): Promise<AgentRow | undefined> =>
  db('agents')
    .join('customers', 'customers.id', 'agents.customer_id')
    .whereRaw('lower(agents.username) = lower(?)', [username])
    .where(either => either.whereNull('agents.tm_delete').orWhere('customers.status', 'deleted'))
    .orderByRaw('agents.tm_delete is null desc, agents.tm_delete desc')
    .first<AgentRow | undefined>('agents.*', 'customers.status as status_of_customer');

const cookieOf = (token: string): string =>
  `token=${token}; Path=/; Max-Age=${TOKEN_LIFETIME_S}; HttpOnly; Secure; SameSite=Strict`;

const login = defineRoute({
  method: 'post',
  path: '/auth/login',
  surface: 'auth',
  operation_id: 'login',
  summary: 'Get a token for a user name and a password',
  tag: 'Auth',
  permission: 'public',
  body: z.object({
    username: z.string().min(1).max(255).describe('The e-mail address of an agent, in any case.'),
    password: z.string().min(1).max(1024).describe('Its password.'),
  }),
  response: z
    .object({ username: z.string(), token: z.string().describe('Valid for 7 days; also set as the cookie token.') })
    .meta({ id: 'Login' }),
  reasons: ['ACCOUNT_EXPIRED', 'ACCOUNT_DELETED'],
  async handle({ context, body, request_id }) {
    const agent = await findAgent(context.db, body.username).catch((error: unknown) => {
      // Closed, not open: without a status nobody gets in (5), and there is only one answer for that (8.4).
      context.log.error({ err: error, request_id }, 'login cannot look at accounts');
      throw new PlatformError('INVALID_ARGUMENT', 'The account has no status.');
    });
    const fits = await passwordMatches(body.password, agent?.password);
    if (!agent || !fits) throw new PlatformError('INVALID_ARGUMENT', 'User name or password is wrong.');
    // Only now, so that nobody without the password learns of the account (platform-api, Authentication 7).
    pass('login', { status: agent.status_of_customer, tm_deletion_scheduled: null });
    const token = await signAgentToken(context.tokenSecret, publicAgent(agent));
    return new Reply(200, { username: agent['username'], token }, { 'Set-Cookie': cookieOf(token) });
  },
});

export const loginRoutes: Route[] = [login];

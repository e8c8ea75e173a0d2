import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import type { Db } from '../db.ts';
import { CUSTOMER_STATUSES, type CustomerStatus } from '../http/authenticate.ts';
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

/** Only expired and deleted accounts are refused here, and only after the password fitted (platform-api, Authentication 7). */
const checkStatus = (status: CustomerStatus): void => {
  if (status === 'expired')
    throw new PlatformError('ACCOUNT_EXPIRED', 'The e-mail address was never verified.', [
      { recovery_endpoint: 'POST /auth/email-verify-resend' },
    ]);
  if (status === 'deleted') throw new PlatformError('ACCOUNT_DELETED', 'The account is deleted.');
  if (!CUSTOMER_STATUSES.includes(status)) throw new PlatformError('INVALID_ARGUMENT', 'The account has no status.');
};

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
  async handle({ context, body }) {
    const agent = await findAgent(context.db, body.username);
    const fits = await passwordMatches(body.password, agent?.password);
    if (!agent || !fits) throw new PlatformError('INVALID_ARGUMENT', 'User name or password is wrong.');
    checkStatus(agent.status_of_customer);
    const token = await signAgentToken(context.tokenSecret, publicAgent(agent));
    return new Reply(200, { username: agent['username'], token }, { 'Set-Cookie': cookieOf(token) });
  },
});

export const authRoutes: Route[] = [login];

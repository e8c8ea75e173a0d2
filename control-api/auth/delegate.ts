import { z } from 'zod';
import { isId, newId } from '#contract/ids';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, Reply, type Route, type RouteRequest } from '../http/route.ts';
import { signDelegateToken } from './token.ts';

/** What the audit log keeps, long enough to know who asked and why (accounts-and-plumbing 8.10). */
const REASON = /^[\x20-\x7e]{10,200}$/;

interface Wanted {
  customer_id: string;
  reason: string;
}

/** The status a request for a delegate token is refused with, or undefined. */
const refusal = async ({ context, identity }: RouteRequest, wanted: Wanted): Promise<403 | 404 | 422 | undefined> => {
  if (identity.kind !== 'agent' || !isSuperAdmin(identity)) return 403;
  if (!isId(wanted.customer_id) || !REASON.test(wanted.reason)) return 422;
  const target = await context
    .db('customers')
    .where({ id: wanted.customer_id })
    .whereNull('tm_delete')
    .first<{ id: string } | undefined>('id');
  return target === undefined ? 404 : undefined;
};

/** One line for each token and each denial; what was written is cut to what a reason may be. */
const audit = (request: RouteRequest, wanted: Wanted, outcome: Record<string, unknown>): void => {
  const { context, identity, request_id, client_ip } = request;
  const issuer = { issuer: identity.agent_id, issuer_kind: identity.kind, issuer_customer_id: identity.customer_id };
  const target = { target_customer_id: wanted.customer_id.slice(0, 36), reason: wanted.reason.slice(0, 200) };
  context.log.info({ audit: 'delegate', ...issuer, ...target, ...outcome, request_id, client_ip }, 'delegate token');
};

const delegate = defineRoute({
  method: 'post',
  path: '/auth/delegate',
  surface: 'auth',
  operation_id: 'delegate',
  summary: 'Get a token that acts as administrator of another customer, for 8 hours',
  tag: 'Auth',
  permission: 'any',
  body: z.object({
    customer_id: z.string().default('').describe('The customer to act for.'),
    reason: z
      .string()
      .default('')
      .describe('Why, in 10 to 200 printable ASCII characters; it goes into the audit log.'),
  }),
  response: z.object({ token: z.string(), customer_id: z.uuid(), expire: z.string() }).meta({ id: 'Delegate' }),
  bare: [403, 404, 422],
  async handle(request) {
    const { context, identity, body } = request;
    const status = await refusal(request, body);
    if (status !== undefined) {
      audit(request, body, { denied: status });
      return new Reply(status, undefined);
    }
    const customer_id = body.customer_id.toLowerCase();
    const jti = newId();
    const signed = await signDelegateToken(context.tokenSecret, { sub: identity.agent_id, jti, customer_id });
    audit(request, body, { jti });
    return { ...signed, customer_id };
  },
});

export const delegateRoutes: Route[] = [delegate];

import { SignJWT, jwtVerify, errors as joseErrors } from 'jose';
import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { fromDate, parseTimestamp, toMillis, toRfc3339 } from '#contract/time';

/** How long a login token is valid, in seconds (platform-api, Limits: 7 days). */
export const TOKEN_LIFETIME_S = 7 * 24 * 3600;
const DIRECT_LIFETIME_S = 4 * 3600;
const DELEGATE_LIFETIME_S = 8 * 3600;

/** Whom delegate tokens are for; a token for anybody else is refused (accounts-and-plumbing 4.3). */
const AUDIENCE = 'trunkline-api';

/** What a direct token is bound to (4.3). */
const boundSchema = z.object({
  customer_id: z.uuid(),
  resource_type: z.string(),
  resource_id: z.uuid(),
  allowed_resource_types: z.array(z.string()),
  allowed_resource_id: z.uuid(),
  scope_version: z.int(),
  /** SHA-256 of the hash it was booted with: a regenerated hash ends the refreshes, and the token tells nobody the hash. */
  hash_digest: z.string(),
});
export type Bound = z.infer<typeof boundSchema>;

const claimsSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agent'), agent: z.object({ id: z.uuid() }), expire: z.string() }),
  z.object({ type: z.literal('direct'), direct: boundSchema, expire: z.string() }),
  z.object({
    type: z.literal('delegate'),
    sub: z.uuid(),
    aud: z.literal(AUDIENCE),
    jti: z.uuid(),
    customer_id: z.uuid(),
    expire: z.string(),
  }),
]);
/** What a token that is good says: who its holder is, by type. */
export type Claims = z.infer<typeof claimsSchema>;

/** A token and when it expires (RFC 3339 with microseconds). */
export interface Signed {
  token: string;
  expire: string;
}

const sign = async (
  secret: Uint8Array,
  claims: Record<string, unknown>,
  lifetimeS: number,
  now = new Date(),
): Promise<Signed> => {
  const expires = new Date(now.getTime() + lifetimeS * 1000);
  const expire = toRfc3339(fromDate(expires));
  const token = await new SignJWT({ ...claims, expire })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt(now)
    .setExpirationTime(expires)
    .sign(secret);
  return { token, expire };
};

/** Signs a login token that holds the public agent object (accounts-and-plumbing 4.3). */
export const signAgentToken = async (
  secret: Uint8Array,
  agent: Record<string, unknown>,
  now = new Date(),
): Promise<string> => (await sign(secret, { type: 'agent', agent }, TOKEN_LIFETIME_S, now)).token;

/** Signs a direct token, good for 4 hours. */
export const signDirectToken = (secret: Uint8Array, direct: Bound): Promise<Signed> =>
  sign(secret, { type: 'direct', direct }, DIRECT_LIFETIME_S);

/** Signs a delegate token, good for 8 hours: `sub` is the agent that issues it, `jti` its number in the audit log. */
export const signDelegateToken = (
  secret: Uint8Array,
  claims: { sub: string; jti: string; customer_id: string },
): Promise<Signed> => sign(secret, { type: 'delegate', aud: AUDIENCE, ...claims }, DELEGATE_LIFETIME_S);

const refused = () => new PlatformError('INVALID_CREDENTIALS', 'The token is invalid or expired.');

/** What a token says. Rejects INVALID_CREDENTIALS when it is forged, expired or none of ours. A missing type means agent. */
export const readToken = async (secret: Uint8Array, token: string): Promise<Claims> => {
  const { payload } = await jwtVerify(token, secret, { algorithms: ['HS256'] }).catch((error: unknown) => {
    // Whatever jose dislikes about a token, the caller learns the same thing.
    if (error instanceof joseErrors.JOSEError || error instanceof TypeError) throw refused();
    throw error;
  });
  const claims = claimsSchema.safeParse({ type: 'agent', ...payload });
  const expire = claims.success ? parseTimestamp(claims.data.expire) : undefined;
  if (!claims.success || expire === undefined || toMillis(expire) <= Date.now()) throw refused();
  return claims.data;
};

import { SignJWT, jwtVerify, errors as joseErrors } from 'jose';
import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { fromDate, parseTimestamp, toMillis, toRfc3339 } from '#contract/time';

/** How long a login token is valid, in seconds (platform-api, Limits: 7 days). */
export const TOKEN_LIFETIME_S = 7 * 24 * 3600;

const claimsSchema = z.object({
  type: z.literal('agent').default('agent'),
  agent: z.object({ id: z.string() }),
  expire: z.string(),
});

/** Signs a login token that holds the public agent object (accounts-and-plumbing 4.3). */
export const signAgentToken = async (
  secret: Uint8Array,
  agent: Record<string, unknown>,
  now = new Date(),
): Promise<string> => {
  const expires = new Date(now.getTime() + TOKEN_LIFETIME_S * 1000);
  return new SignJWT({ type: 'agent', agent, expire: toRfc3339(fromDate(expires)) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt(now)
    .setExpirationTime(expires)
    .sign(secret);
};

const refused = () => new PlatformError('INVALID_CREDENTIALS', 'The token is invalid or expired.');

/** The agent id a login token names. Rejects INVALID_CREDENTIALS when the token is forged, expired or no login token. */
export const readAgentToken = async (secret: Uint8Array, token: string): Promise<string> => {
  const { payload } = await jwtVerify(token, secret, { algorithms: ['HS256'] }).catch((error: unknown) => {
    // Whatever jose dislikes about a token, the caller learns the same thing.
    if (error instanceof joseErrors.JOSEError || error instanceof TypeError) throw refused();
    throw error;
  });
  const claims = claimsSchema.safeParse(payload);
  const expire = claims.success ? parseTimestamp(claims.data.expire) : undefined;
  if (!claims.success || expire === undefined || toMillis(expire) <= Date.now()) throw refused();
  return claims.data.agent.id;
};

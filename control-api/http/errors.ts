import { z } from 'zod';
import { ERROR_STATUSES, PlatformError, REASONS, type ErrorStatus, type Reason } from '#contract/errors';
import { RateLimitExceeded } from './rate-limits.ts';

/** The body of every 4xx and 5xx on versioned paths (accounts-and-plumbing 2.1). */
export const errorSchema = z
  .object({
    error: z.object({
      status: z.enum(Object.keys(ERROR_STATUSES) as [ErrorStatus, ...ErrorStatus[]]).describe('The kind of failure.'),
      reason: z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]).describe('What programs branch on.'),
      message: z.string().describe('For people.'),
      request_id: z.string().describe('Also in the header X-Request-Id.'),
      details: z.array(z.record(z.string(), z.unknown())).optional().describe('Facts that some reasons carry.'),
    }),
  })
  .meta({ id: 'Error', description: 'Why a request failed.' });
export type ErrorEnvelope = z.infer<typeof errorSchema>;

/** The envelope of a failure; `details` is omitted when empty. */
export const envelope = (error: PlatformError, requestId: string): ErrorEnvelope => ({
  error: {
    status: error.status,
    reason: error.reason,
    message: error.message,
    request_id: requestId,
    ...(error.details.length > 0 ? { details: error.details } : {}),
  },
});

/** Headers that a failure is answered with, beside the envelope. */
export const headersOf = (error: PlatformError): Record<string, string> =>
  error instanceof RateLimitExceeded ? { 'Retry-After': String(error.retry_after_s) } : {};

const hasStatus = (error: unknown): error is { status: number; type?: unknown } =>
  typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number';

/** Codes and names with which pg, knex and ioredis say that their server is away. */
const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  'KnexTimeoutError',
  'MaxRetriesPerRequestError',
  'AggregateError',
]);

const isAway = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return AWAY.has(code) || AWAY.has(error.name) || /^Connection (terminated|is closed)/.test(error.message);
};

/**
 * What a failure looks like to clients: typed errors pass, Express's own become 400, a store that is away
 * is 503 and the rest is INTERNAL (2.2).
 */
export const asPlatformError = (error: unknown): PlatformError => {
  if (error instanceof PlatformError) return error;
  if (hasStatus(error) && error.type === 'entity.too.large')
    return new PlatformError('INVALID_ARGUMENT', 'The body is larger than the platform takes.');
  if (hasStatus(error) && error.status >= 400 && error.status < 500)
    return new PlatformError('INVALID_ARGUMENT', 'The request is malformed.');
  if (isAway(error)) return new PlatformError('SERVICE_UNAVAILABLE', 'A part of the platform is not reachable now.');
  return new PlatformError('INTERNAL', 'An unexpected failure. Its request_id finds it in the log.');
};

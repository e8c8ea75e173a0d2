import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '#process/log';
import { PlatformError } from '#contract/errors';
import { envelope, headersOf } from './errors.ts';

/** What a failure before an upgrade is told as; what is no PlatformError is ours, and passing. */
const asError = (error: unknown): PlatformError =>
  error instanceof PlatformError ? error : new PlatformError('SERVICE_UNAVAILABLE', 'Try again later.');

/** Answers an upgrade with the error envelope, closes the connection, and logs it as requests are logged. */
export const refuseUpgrade = (
  { socket, request, request_id, log }: { socket: Duplex; request: IncomingMessage; request_id: string; log: Log },
  cause: unknown,
): void => {
  const error = asError(cause);
  const body = JSON.stringify(envelope(error, request_id));
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    'X-Request-Id': request_id,
    ...headersOf(error),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const { httpStatus: status, reason } = error;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  const err = error === cause ? {} : { err: cause };
  log.info({ request_id, status, reason, ...err }, `upgrade of ${request.url?.split('?')[0]} refused`);
};

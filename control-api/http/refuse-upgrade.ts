import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { PlatformError } from '#contract/errors';

/** What a failure before an upgrade is told as; what is no PlatformError is ours, and passing. */
const asError = (error: unknown): PlatformError =>
  error instanceof PlatformError ? error : new PlatformError('SERVICE_UNAVAILABLE', 'Try again later.');

/** Answers an upgrade with the error envelope and closes the connection. */
export const refuseUpgrade = (socket: Duplex, cause: unknown): void => {
  const error = asError(cause);
  const request_id = `req_${randomUUID().replaceAll('-', '').slice(0, 26)}`;
  const { status, reason, message } = error;
  const body = JSON.stringify({ error: { status, reason, message, request_id } });
  const head = `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus] ?? ''}`;
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  socket.end(`${head}\r\n${headers}\r\nX-Request-Id: ${request_id}\r\n\r\n${body}`);
};

import { connect, createServer } from 'node:net';
import type { Door } from './stream.ts';

const KEEPALIVE_MS = 60_000;

/** SIP over TCP (RFC 3261 18). */
export const tcpDoor: Door = {
  transport: 'tcp',
  ready: 'connect',
  createServer: accept =>
    createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEPALIVE_MS }, socket => accept(socket)),
  connect: ({ host, port }) => connect({ host, port, noDelay: true, keepAlive: true }),
};

import { connect, createServer } from 'node:tls';
import type { Certificates } from '../certificates.ts';
import type { Door } from './stream.ts';

const HANDSHAKE_MS = 10_000;
const KEEPALIVE_MS = 60_000;

/**
 * SIP over TLS (RFC 3261 26.3.1). Whom we connect to has to prove the name we dialled (RFC 5922 7.2), unless the
 * settings say otherwise.
 */
export function tlsDoor(certificates: Certificates): Door {
  return {
    transport: 'tls',
    ready: 'secureConnect',
    createServer: accept => {
      const timing = { handshakeTimeout: HANDSHAKE_MS, keepAlive: true, keepAliveInitialDelay: KEEPALIVE_MS };
      const server = createServer({ ...certificates.serverOptions(), ...timing, noDelay: true }, accept);
      certificates.follow(server);
      // A handshake that fails concerns that connection alone. One that takes too long is told of, but not closed.
      server.on('tlsClientError', (_error, socket) => socket.destroy());
      return server;
    },
    connect: ({ host, port, name }) => {
      const servername = name === undefined ? {} : { servername: name };
      const socket = connect({ ...certificates.clientOptions(), host, port, ...servername });
      return socket.setNoDelay(true).setKeepAlive(true, KEEPALIVE_MS);
    },
  };
}

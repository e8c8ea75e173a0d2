import type { Server } from 'node:net';
import type { Transport } from '../hop.ts';
import type { Place } from './carrier.ts';

/**
 * Opens the port of a server for connections; port 0 takes any free one.
 * @returns the port that it listens on
 * @throws Error with a sentence when the port is taken
 */
export function listen(server: Server, transport: Transport, { host, port }: Place): Promise<number> {
  return new Promise((resolve, reject) => {
    const refused = (error: Error): void =>
      reject(new Error(`cannot listen on ${transport} ${host}:${port}: ${error.message}`, { cause: error }));
    server.once('error', refused);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', refused);
      // Later errors concern one connection attempt (no file descriptors left); listening goes on.
      server.on('error', () => undefined);
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : port);
    });
  });
}

/** Takes no more connections; resolves when those that were open are closed. */
export function closePort(server: Server): Promise<void> {
  return new Promise(resolve => {
    if (server.listening) server.close(() => resolve());
    else resolve();
  });
}

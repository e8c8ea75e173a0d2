import type { Server } from 'node:net';

/**
 * Opens the port of a server for connections.
 * @param purpose what the sentence says of a port that is taken: `cannot listen ${purpose} 127.0.0.1:5060: …`
 * @param place an address of this machine and a port, 0 for any free one
 * @returns the port that it listens on
 * @throws Error with that sentence
 */
export function listen(server: Server, purpose: string, place: { host: string; port: number }): Promise<number> {
  const { host, port } = place;
  return new Promise((resolve, reject) => {
    const refused = (error: Error): void =>
      reject(new Error(`cannot listen ${purpose} ${host}:${port}: ${error.message}`, { cause: error }));
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

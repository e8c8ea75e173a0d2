import { createServer, type Server, type Socket } from 'node:net';
import { listen } from '../listen.ts';
import { sameSecret } from '../same-secret.ts';
import type { EslHost } from './connection.ts';
import { EslConnection } from './connection.ts';

const authDeadlineMs = 30_000;
const maxConnections = 1000;

/** Options of the server that clients such as drachtio-fsmrf connect to. */
export interface InboundServerOptions {
  host: EslHost;
  /** Address to listen on. */
  address: string;
  /** Port to listen on, 0 = any. */
  port: number;
  password: string;
}

/** The inbound event socket (port 8021 in FreeSWITCH): asks for the password, then serves commands. */
export class InboundServer {
  readonly connections = new Set<EslConnection>();
  readonly #options: InboundServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(options: InboundServerOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket));
    this.#server.maxConnections = maxConnections;
  }

  /**
   * Listens.
   * @returns the port in use
   * @throws Error with a sentence that names the port
   */
  start(): Promise<number> {
    const { address, port } = this.#options;
    return listen(this.#server, 'for event socket clients on', { host: address, port });
  }

  /** Takes leave of every client and stops listening. */
  async stop(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const connection of this.connections) connection.goodbye();
    setImmediate(() => this.#sockets.forEach(socket => socket.destroySoon()));
    await closed;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const deadline = setTimeout(() => !connection.authenticated && connection.destroy(), authDeadlineMs);
    const connection = new EslConnection(socket, {
      host: this.#options.host,
      authenticate: secret => sameSecret(secret, this.#options.password),
      onClose: () => {
        clearTimeout(deadline);
        this.#sockets.delete(socket);
        this.connections.delete(connection);
      },
    });
    this.connections.add(connection);
    connection.write('Content-Type: auth/request\n\n');
  }
}

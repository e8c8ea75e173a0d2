import { connect, createServer, type Server, type Socket } from 'node:net';
import { StreamParser, type StreamItem } from '../framing.ts';
import type { Hop, Source } from '../hop.ts';
import type { Carrier, LocalAddress, Receiver } from './carrier.ts';

/** What a stranger may cost us. */
const MOST_CONNECTIONS = 10_000;
const MOST_UNSENT_BYTES = 1024 * 1024;
/** A connection that has not brought one whole message by then is closed. */
const SILENT_MS = 30_000;
const CONNECT_MS = 10_000;
const KEEPALIVE_MS = 60_000;

/** `::ffff:192.0.2.1` is 192.0.2.1 to everybody else. */
const plain = (address: string | undefined): string => (address ?? '').replace(/^::ffff:/i, '');

/** One TCP listener and every connection it accepted or opened, by peer address (RFC 3261 18). */
export class TcpCarrier implements Carrier {
  readonly transport = 'tcp';
  readonly host: string;
  port: number;
  readonly #server: Server;
  readonly #receive: Receiver;
  readonly #localAddress: LocalAddress;
  readonly #sockets = new Map<string, Socket>();

  constructor(host: string, port: number, receive: Receiver, localAddress: LocalAddress) {
    this.host = host;
    this.port = port;
    this.#receive = receive;
    this.#localAddress = localAddress;
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEPALIVE_MS }, socket =>
      this.#accepted(socket),
    );
  }

  /** Rejects with a sentence when the port is taken. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refused = (error: Error): void =>
        reject(new Error(`cannot listen on tcp ${this.host}:${this.port}: ${error.message}`, { cause: error }));
      this.#server.once('error', refused);
      this.#server.listen({ host: this.host, port: this.port, exclusive: true }, () => {
        this.#server.off('error', refused);
        // Later errors concern one connection attempt (no file descriptors left); listening goes on.
        this.#server.on('error', () => undefined);
        const address = this.#server.address();
        if (address !== null && typeof address === 'object') this.port = address.port;
        resolve();
      });
    });
  }

  #accepted(socket: Socket): void {
    if (this.#sockets.size >= MOST_CONNECTIONS) socket.destroy();
    else this.#adopt(socket, `${plain(socket.remoteAddress)}:${socket.remotePort ?? 0}`);
  }

  #adopt(socket: Socket, key: string): void {
    this.#sockets.set(key, socket);
    const stream = new StreamParser();
    const silence = setTimeout(() => socket.destroy(), SILENT_MS);
    socket.on('data', chunk => {
      for (const item of stream.push(chunk)) this.#handle(item, socket, silence);
    });
    // The close that follows every error does the tidying; writers are told through their callbacks.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(silence);
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }

  #handle(item: StreamItem, socket: Socket, silence: NodeJS.Timeout): void {
    if (item.kind === 'broken') socket.destroy();
    else if (item.kind === 'ping') socket.write('\r\n');
    else {
      clearTimeout(silence);
      this.#receive(item.parsed, this.#sourceOf(socket, item.size));
    }
  }

  #sourceOf(socket: Socket, size: number): Source {
    const address = plain(socket.remoteAddress);
    const local = { localAddress: this.#localAddress(address), localPort: this.port };
    return { transport: 'tcp', address, port: socket.remotePort ?? 0, ...local, size };
  }

  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void {
    const socket = this.#socketTo(hop);
    if (socket.writableLength > MOST_UNSENT_BYTES) socket.destroy();
    socket.write(data, error => {
      if (error) failed(error);
    });
  }

  #socketTo(hop: Hop): Socket {
    const key = `${hop.host}:${hop.port}`;
    const open = this.#sockets.get(key);
    if (open && !open.destroyed && open.writable) return open;
    const socket = connect({ host: hop.host, port: hop.port, noDelay: true, keepAlive: true });
    const slow = setTimeout(() => socket.destroy(new Error('connection timed out')), CONNECT_MS);
    const settled = (): void => clearTimeout(slow);
    socket.once('connect', settled).once('close', settled);
    this.#adopt(socket, key);
    return socket;
  }

  /** TCP tells of a refused connection by itself. */
  probe(): void {
    return;
  }

  connected(hop: Hop): boolean {
    const socket = this.#sockets.get(`${hop.host}:${hop.port}`);
    return socket !== undefined && !socket.destroyed && socket.writable;
  }

  connections(): number {
    return this.#sockets.size;
  }

  stop(): Promise<void> {
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#sockets.clear();
    return new Promise(resolve => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
    });
  }
}

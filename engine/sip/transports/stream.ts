import type { Server, Socket } from 'node:net';
import { plainAddress, speaksTo } from '../addresses.ts';
import { StreamParser, type StreamItem } from '../framing.ts';
import type { Hop, Source } from '../hop.ts';
import type { SipTransport, Ears, Place } from './sip-transport.ts';
import { closePort, listen } from '../../listen.ts';
import { MessageClock } from './message-clock.ts';

const MOST_UNSENT_BYTES = 1024 * 1024;
const CONNECT_MS = 10_000;

/** How connections of one kind are taken and made: plain or encrypted. */
export interface Door {
  readonly transport: 'tcp' | 'tls';
  /** Of a socket that was made: it can carry messages now. */
  readonly ready: 'connect' | 'secureConnect';
  createServer(accept: (socket: Socket) => void): Server;
  connect(hop: Hop): Socket;
}

/** One listener for byte streams and every connection it accepted or opened, by peer address (RFC 3261 18). */
export class StreamTransport implements SipTransport {
  readonly transport: 'tcp' | 'tls';
  readonly host: string;
  port: number;
  readonly #door: Door;
  readonly #server: Server;
  readonly #ears: Ears;
  readonly #sockets = new Map<string, Socket>();

  constructor(place: Place, door: Door, ears: Ears) {
    this.transport = door.transport;
    this.host = place.host;
    this.port = place.port;
    this.#ears = ears;
    this.#door = door;
    this.#server = door.createServer(socket => this.#accepted(socket));
    ears.doorkeeper.watch(this.#server, this.transport === 'tls');
  }

  reaches(address: string): boolean {
    return speaksTo(this.host, address);
  }

  /** Rejects with a sentence when the port is taken. */
  async start(): Promise<void> {
    this.port = await listen(this.#server, `on ${this.transport}`, this);
  }

  #accepted(socket: Socket): void {
    if (!socket.destroyed)
      this.#adopt(socket, { host: plainAddress(socket.remoteAddress), port: socket.remotePort ?? 0 });
  }

  #adopt(socket: Socket, peer: Place): void {
    const key = `${peer.host}:${peer.port}`;
    this.#sockets.set(key, socket);
    const stream = new StreamParser();
    const { doorkeeper, patienceMs } = this.#ears;
    const clock = new MessageClock(socket, patienceMs);
    clock.start(); // whom we connected to has so long for his first message
    socket.on('data', chunk => {
      const items = stream.push(chunk);
      const whole = items.some(item => item.kind === 'message');
      for (const item of items) this.#handle(item, socket, peer);
      if (items.some(item => item.kind === 'message' && item.parsed.ok)) doorkeeper.met(socket);
      if (whole) clock.stop();
      if (stream.unfinished) clock.start();
      if (!doorkeeper.holds(socket, stream.bytes)) socket.destroy();
    });
    // The close that follows every error does the tidying; writers are told through their callbacks.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#sockets.get(key) !== socket) return;
      this.#sockets.delete(key);
      this.#ears.closed({ transport: this.transport, ...peer });
    });
  }

  #handle(item: StreamItem, socket: Socket, peer: Place): void {
    if (item.kind === 'broken') socket.destroy();
    else if (item.kind === 'ping') this.#pong(socket);
    else this.#ears.receive(item.parsed, this.#sourceOf(peer, item.size));
  }

  /** Who does not read is not told again and again that we are here. */
  #pong(socket: Socket): void {
    if (socket.writableLength === 0) socket.write('\r\n');
  }

  #sourceOf({ host, port }: Place, size: number): Source {
    const local = { localAddress: this.#ears.localAddress(host), localPort: this.port };
    return { transport: this.transport, address: host, port, ...local, size };
  }

  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void {
    const socket = this.#socketTo(hop);
    const owed = (): boolean => this.#ears.doorkeeper.owes(socket, socket.writableLength);
    socket.write(data, error => {
      owed();
      if (error) failed(error);
    });
    if (!owed() || socket.writableLength > MOST_UNSENT_BYTES) socket.destroy();
  }

  #socketTo(hop: Hop): Socket {
    const key = `${hop.host}:${hop.port}`;
    const open = this.#sockets.get(key);
    if (open && !open.destroyed && open.writable) return open;
    const socket = this.#door.connect(hop);
    const slow = setTimeout(() => socket.destroy(new Error('connection timed out')), CONNECT_MS);
    const settled = (): void => clearTimeout(slow);
    socket.once(this.#door.ready, settled).once('close', settled);
    this.#adopt(socket, { host: hop.host, port: hop.port });
    return socket;
  }

  openLine(peer: Hop): void {
    const socket = this.#sockets.get(`${peer.host}:${peer.port}`);
    if (socket) this.#ears.doorkeeper.trust(socket);
  }

  /** A stream tells of a refused connection by itself. */
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
    return closePort(this.#server);
  }
}

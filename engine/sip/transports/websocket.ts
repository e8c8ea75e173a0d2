import { isUtf8 } from 'node:buffer';
import { createServer as createPlainServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { plainAddress, speaksTo } from '../addresses.ts';
import type { Certificates } from '../certificates.ts';
import type { Hop } from '../hop.ts';
import { LIMITS, parseDatagram } from '../parser.ts';
import type { SipTransport, Ears, Place } from './sip-transport.ts';
import { FrameWatch } from './frame-watch.ts';
import { closePort, listen } from '../../listen.ts';
import { MessageClock } from './message-clock.ts';

const MOST_UNSENT_BYTES = 1024 * 1024;
const HANDSHAKE_MS = 10_000;
/** A peer that has not answered a ping by the next one is gone. */
const PING_MS = 25_000;
const SUBPROTOCOL = 'sip';
/**
 * Pieces of one message, and of one frame, that the library holds at a time: a piece of one byte takes hundreds. A message of
 * 64 KB comes in 130 of the smallest packets that anybody sends on purpose.
 */
const PIECES = { maxFragments: 64, maxBufferedChunks: 256 };
/** `CRLF CRLF`, which some browsers' phones send to keep the connection, and its answer (RFC 5626 3.5.1). */
const PING = Buffer.from('\r\n\r\n');
const PONG = '\r\n';

interface Peer {
  socket: WebSocket;
  /** What is under it. */
  stream: Socket;
  place: Place;
  alive: boolean;
}

/**
 * One WebSocket listener for SIP (RFC 7118), one message a frame. Browsers cannot be connected to: what goes out goes
 * over a connection that came in.
 */
export class WebSocketTransport implements SipTransport {
  readonly transport: 'ws' | 'wss';
  readonly host: string;
  port: number;
  readonly #server: Server;
  readonly #upgrades: WebSocketServer;
  readonly #ears: Ears;
  readonly #peers = new Map<string, Peer>();
  #pings: NodeJS.Timeout | undefined;

  constructor({ host, port }: Place, ears: Ears, certificates?: Certificates) {
    this.transport = certificates ? 'wss' : 'ws';
    this.host = host;
    this.port = port;
    this.#ears = ears;
    this.#server = serverFor(certificates);
    ears.doorkeeper.watch(this.#server, this.transport === 'wss');
    const bounds = { maxPayload: LIMITS.message, perMessageDeflate: false, autoPong: false, ...PIECES };
    this.#upgrades = new WebSocketServer({ noServer: true, ...bounds, handleProtocols: () => SUBPROTOCOL });
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  reaches(address: string): boolean {
    return speaksTo(this.host, address);
  }

  /** Rejects with a sentence when the port is taken. */
  async start(): Promise<void> {
    this.port = await listen(this.#server, `on ${this.transport}`, this);
    this.#pings = setInterval(() => this.#ping(), PING_MS);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined); // the close that follows does the tidying
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map(one => one.trim().toLowerCase());
    if (!offered.includes(SUBPROTOCOL)) return refuse(socket, '400 Bad Request', 'the subprotocol has to be sip');
    this.#upgrades.handleUpgrade(request, socket, head, peer => this.#adopt(peer, request));
  }

  #adopt(socket: WebSocket, request: IncomingMessage): void {
    const place = { host: plainAddress(request.socket.remoteAddress), port: request.socket.remotePort ?? 0 };
    const key = `${place.host}:${place.port}`;
    const peer: Peer = { socket, stream: request.socket, place, alive: true };
    this.#peers.set(key, peer);
    this.#watch(peer.stream);
    socket.on('message', data => this.#arrived(peer, data));
    socket.on('pong', () => (peer.alive = true));
    // Not by the library, which queues an answer to each for one who reads none.
    socket.on('ping', data => reads(socket) && socket.pong(data));
    socket.on('error', () => undefined); // a frame too large, or none at all: the library closes and says why
    socket.on('close', () => {
      if (this.#peers.get(key) !== peer) return;
      this.#peers.delete(key);
      this.#ears.closed({ transport: this.transport, ...place });
    });
  }

  /** Half messages of browsers have the same bounds as others'. */
  #watch(stream: Socket): void {
    const { doorkeeper, patienceMs } = this.#ears;
    const clock = new MessageClock(stream, patienceMs);
    const frames = new FrameWatch();
    stream.on('data', (chunk: Buffer) => {
      if (frames.pass(chunk) || frames.bytes === 0) clock.stop();
      if (frames.bytes > 0) clock.start();
      if (!doorkeeper.holds(stream, frames.bytes)) stream.destroy();
    });
  }

  #arrived(peer: Peer, raw: RawData): void {
    const data = Buffer.isBuffer(raw) ? raw : Buffer.concat(Array.isArray(raw) ? raw : [Buffer.from(raw)]);
    peer.alive = true;
    if (data.equals(PING)) return void (reads(peer.socket) && peer.socket.send(PONG));
    if (data.length <= PING.length) return;
    const { host, port } = peer.place;
    const local = { localAddress: this.#ears.localAddress(host), localPort: this.port };
    const source = { transport: this.transport, address: host, port, ...local, size: data.length };
    const parsed = parseDatagram(data);
    if (parsed.ok) this.#ears.doorkeeper.met(peer.stream);
    this.#ears.receive(parsed, source);
  }

  #ping(): void {
    for (const peer of this.#peers.values()) {
      if (!peer.alive) peer.socket.terminate();
      else peer.socket.ping();
      peer.alive = false;
    }
  }

  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void {
    const { socket, stream } = this.#open(hop) ?? {};
    if (!socket || !stream)
      return void setImmediate(failed, new Error(`${hop.host}:${hop.port} has no WebSocket open`));
    const owed = (): boolean => this.#ears.doorkeeper.owes(stream, socket.bufferedAmount);
    // Text, because browsers hand it to their phones as it is (RFC 7118 5); what is no UTF-8 travels as bytes.
    const binary = !isUtf8(data);
    socket.send(data, { binary }, error => {
      owed();
      if (error) failed(error);
    });
    if (!owed() || socket.bufferedAmount > MOST_UNSENT_BYTES) socket.terminate();
  }

  #open(hop: Hop): Peer | undefined {
    const peer = this.#peers.get(`${hop.host}:${hop.port}`);
    return peer?.socket.readyState === peer?.socket.OPEN ? peer : undefined;
  }

  openLine(hop: Hop): void {
    const peer = this.#peers.get(`${hop.host}:${hop.port}`);
    if (peer) this.#ears.doorkeeper.trust(peer.stream);
  }

  /** A stream tells of a lost connection by itself. */
  probe(): void {
    return;
  }

  connected(hop: Hop): boolean {
    return this.#open(hop) !== undefined;
  }

  connections(): number {
    return this.#peers.size;
  }

  stop(): Promise<void> {
    clearInterval(this.#pings);
    for (const { socket } of this.#peers.values()) socket.terminate();
    this.#peers.clear();
    this.#server.closeAllConnections();
    return closePort(this.#server);
  }
}

/** Nothing waits for it. */
const reads = (socket: WebSocket): boolean => socket.readyState === socket.OPEN && socket.bufferedAmount === 0;

/** Anything but an upgrade is told what this port is for. */
function serverFor(certificates: Certificates | undefined): Server {
  const timing = { headersTimeout: HANDSHAKE_MS, requestTimeout: HANDSHAKE_MS, noDelay: true };
  const server = certificates
    ? createSecureServer({ ...certificates.serverOptions(), ...timing, handshakeTimeout: HANDSHAKE_MS })
    : createPlainServer(timing);
  if (certificates) certificates.follow(server as ReturnType<typeof createSecureServer>);
  server.on('request', (_request, response) => {
    response.writeHead(426, { Upgrade: 'websocket', Connection: 'close', 'Content-Type': 'text/plain' });
    response.end('This port speaks SIP over WebSocket (RFC 7118).\n');
  });
  return server;
}

function refuse(socket: Duplex, status: string, why: string): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${why.length}\r\n\r\n${why}`,
  );
}

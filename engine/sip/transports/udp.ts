import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { Hop } from '../hop.ts';
import { parseDatagram } from '../parser.ts';
import { plainAddress, speaksTo } from '../addresses.ts';
import type { SipTransport, Ears, Place } from './sip-transport.ts';

const BUFFER_BYTES = 8 * 1024 * 1024;
const PROBE_MS = 250;
/** Peers with a line of their own: the kernel looks through all of them for every datagram. */
const MOST_LINES = 500;
/** A line that was silent for so long makes room for another. */
const SILENT_MS = 600_000;

/** A socket connected to one peer. */
interface Line {
  socket: Socket;
  /** When it last brought something, or was asked for. */
  used: number;
}

/** One UDP listener (RFC 3261 18). */
export class UdpTransport implements SipTransport {
  readonly transport = 'udp';
  readonly host: string;
  port: number;
  readonly #socket: Socket;
  readonly #ears: Ears;
  readonly #probes = new Set<Socket>();
  /** By `host:port`, the longest unused first. */
  readonly #lines = new Map<string, Line>();
  #open = false;

  constructor({ host, port }: Place, ears: Ears) {
    this.host = host;
    this.port = port;
    this.#ears = ears;
    this.#socket = this.#newSocket(true);
  }

  reaches(address: string): boolean {
    return speaksTo(this.host, address);
  }

  /** Rejects with a sentence when the port is taken. */
  async start(): Promise<void> {
    try {
      // Ours shares its port with the lines, and would so with anybody: whether it is free is asked by a socket that does not.
      const first = this.#newSocket(false);
      await this.#bind(first);
      this.port = first.address().port;
      await new Promise<void>(resolve => first.close(resolve));
      await this.#bind(this.#socket);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`cannot listen on udp ${this.host}:${this.port}: ${message}`, { cause: error });
    }
    this.#opened();
  }

  #newSocket(reuseAddr: boolean): Socket {
    return createSocket({ type: isIPv6(this.host) ? 'udp6' : 'udp4', reuseAddr });
  }

  async #bind(socket: Socket): Promise<void> {
    socket.bind({ address: this.host, port: this.port, exclusive: true });
    await once(socket, 'listening');
  }

  /**
   * Gives a peer a socket of its own, which the kernel prefers for what comes from there: however full the common one is
   * of what strangers send, it loses nothing of this peer. Without room for another it stays as it is.
   */
  openLine({ host, port }: Hop): void {
    const key = `${host}:${port}`;
    const line = this.#lines.get(key);
    if (line) return this.#touch(key, line);
    if (!this.#open || !this.#hasRoom()) return;
    const socket = this.#newSocket(true);
    const opened: Line = { socket, used: Date.now() };
    this.#lines.set(key, opened);
    socket.on('error', () => undefined); // the peer's machine says that nobody listens there just now
    socket.on('message', (data, from) => {
      this.#touch(key, opened);
      this.#arrived(data, from);
    });
    const connect = (): void =>
      socket.connect(port, this.#reachable(host), (error?: Error) => {
        if (error) this.#closeLine(key);
      });
    this.#bind(socket).then(
      () => this.#lines.get(key) === opened && connect(),
      () => this.#closeLine(key),
    );
  }

  #touch(key: string, line: Line): void {
    line.used = Date.now();
    if (!this.#lines.delete(key)) return;
    this.#lines.set(key, line);
  }

  #hasRoom(): boolean {
    if (this.#lines.size < MOST_LINES) return true;
    const [[key, { used }] = ['', { used: Infinity }]] = this.#lines;
    if (Date.now() - used < SILENT_MS) return false;
    this.#closeLine(key);
    return true;
  }

  #closeLine(key: string): void {
    const line = this.#lines.get(key);
    if (this.#lines.delete(key)) line?.socket.close();
  }

  #opened(): void {
    this.#open = true;
    this.port = this.#socket.address().port;
    // An error of one datagram is reported to its sender's callback; the socket itself stays usable.
    this.#socket.on('error', () => undefined);
    this.#socket.on('message', (data, from) => this.#arrived(data, from));
    this.#socket.setRecvBufferSize(BUFFER_BYTES);
  }

  #arrived(data: Buffer, from: RemoteInfo): void {
    // Keep-alives: blank lines, or the NULs some phones send.
    const first = data[0];
    if (data.length < 5 || first === 0) return;
    const address = plainAddress(from.address);
    const local = { localAddress: this.#ears.localAddress(address), localPort: this.port };
    this.#ears.receive(parseDatagram(data), {
      ...{ transport: 'udp', address, port: from.port },
      ...{ ...local, size: data.length },
    });
  }

  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void {
    if (!this.#open) return;
    this.#socket.send(data, hop.port, this.#reachable(hop.host), error => {
      if (error) failed(error);
    });
  }

  /** An IPv6 socket reaches IPv4 peers under their mapped addresses (RFC 4291 2.5.5.2). */
  #reachable(host: string): string {
    return isIPv6(this.host) && !isIPv6(host) ? `::ffff:${host}` : host;
  }

  /**
   * Linux reports "port unreachable" only to connected sockets, so a silent peer is asked once more from one: a blank
   * line, which every SIP element ignores.
   */
  probe(hop: Hop, refused: (error: Error) => void): void {
    const socket = createSocket({ type: isIPv6(hop.host) ? 'udp6' : 'udp4' });
    this.#probes.add(socket);
    const done = (): void => {
      clearTimeout(timer);
      if (this.#probes.delete(socket)) socket.close();
    };
    const timer = setTimeout(done, PROBE_MS);
    socket.on('error', error => {
      done();
      if ('code' in error && error.code === 'ECONNREFUSED') refused(error);
    });
    socket.once('connect', () => socket.send('\r\n\r\n'));
    socket.connect(hop.port, hop.host);
  }

  stop(): Promise<void> {
    for (const probe of this.#probes) probe.close();
    this.#probes.clear();
    for (const key of [...this.#lines.keys()]) this.#closeLine(key);
    if (!this.#open) return Promise.resolve();
    this.#open = false;
    return new Promise(resolve => this.#socket.close(() => resolve()));
  }

  connections(): number {
    return 0;
  }

  connected(): boolean {
    return true;
  }
}

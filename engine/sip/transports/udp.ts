import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Hop } from '../hop.ts';
import { parseDatagram } from '../parser.ts';
import { plainAddress, speaksTo } from '../addresses.ts';
import type { Carrier, Ears, Place } from './carrier.ts';

const BUFFER_BYTES = 2 * 1024 * 1024;
const PROBE_MS = 250;

/** One UDP listener (RFC 3261 18). */
export class UdpCarrier implements Carrier {
  readonly transport = 'udp';
  readonly host: string;
  port: number;
  readonly #socket: Socket;
  readonly #ears: Ears;
  readonly #probes = new Set<Socket>();
  #open = false;

  constructor({ host, port }: Place, ears: Ears) {
    this.host = host;
    this.port = port;
    this.#ears = ears;
    this.#socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' });
  }

  reaches(address: string): boolean {
    return speaksTo(this.host, address);
  }

  /** Rejects with a sentence when the port is taken. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refused = (error: Error): void =>
        reject(new Error(`cannot listen on udp ${this.host}:${this.port}: ${error.message}`, { cause: error }));
      this.#socket.once('error', refused);
      this.#socket.bind({ address: this.host, port: this.port, exclusive: true }, () => {
        this.#socket.off('error', refused);
        this.#opened();
        resolve();
      });
    });
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
    // An IPv6 socket reaches IPv4 peers under their mapped addresses (RFC 4291 2.5.5.2).
    const address = isIPv6(this.host) && !isIPv6(hop.host) ? `::ffff:${hop.host}` : hop.host;
    this.#socket.send(data, hop.port, address, error => {
      if (error) failed(error);
    });
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

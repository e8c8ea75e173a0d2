import type { Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

const drainMs = 400;
const receiveBuffer = 256 * 1024;

/** Every port of the range is taken. */
class RtpPortsExhaustedError extends Error {
  constructor(range: [number, number]) {
    super(`no free RTP port between ${range[0]} and ${range[1]}; widen RTP_PORTS or end calls`);
    this.name = 'RtpPortsExhaustedError';
  }
}

/** A bound UDP socket on an even port. `rtcp` is on the odd port above it, or null where that one is taken. */
export interface RtpSocket {
  readonly port: number;
  readonly socket: Socket;
  readonly rtcp: Socket | null;
  /** Closes the sockets and gives the port back; may be called twice. */
  release(): void;
}

/**
 * The RTP ports of the process: even numbers of a range. A released port rests for 400 ms, so that late packets of a
 * finished call do not reach the next one.
 */
export class RtpPorts {
  readonly #range: [number, number];
  readonly #host: string;
  readonly #taken = new Set<number>();
  readonly #releasedAt = new Map<number, number>();
  #cursor: number;

  constructor(range: [number, number], host: string) {
    this.#range = range;
    this.#host = host;
    this.#cursor = Math.floor(Math.random() * this.#count);
  }

  /** Ports that are bound now. */
  get inUse(): number {
    return this.#taken.size;
  }

  /** How many calls the range can carry. */
  get capacity(): number {
    return this.#count;
  }

  /** Binds the next free port. Rejects with RtpPortsExhaustedError, or with the system's error when the host cannot be bound. */
  async acquire(): Promise<RtpSocket> {
    for (let tries = 0; tries < this.#count; tries++) {
      const port = this.#reserve();
      if (port === null) break;
      const found = await this.#bind(port);
      if (found) return found;
    }
    return this.#waitForDrained();
  }

  get #first(): number {
    return this.#range[0] + (this.#range[0] % 2);
  }

  get #count(): number {
    return Math.max(0, Math.floor((this.#range[1] - this.#first) / 2) + 1);
  }

  /** The next port that is neither taken nor resting, marked as taken; null when there is none. */
  #reserve(): number | null {
    const now = performance.now();
    for (let tries = 0; tries < this.#count; tries++) {
      const port = this.#first + 2 * this.#cursor;
      this.#cursor = (this.#cursor + 1) % this.#count;
      if (this.#taken.has(port) || now - (this.#releasedAt.get(port) ?? -Infinity) < drainMs) continue;
      this.#taken.add(port);
      return port;
    }
    return null;
  }

  /** Null when another program has the port. */
  async #bind(port: number): Promise<RtpSocket | null> {
    try {
      const socket = await bindUdp(port, this.#host);
      const rtcp = await bindUdp(port + 1, this.#host).catch(() => null); // RTCP is optional: media works without it
      return this.#entry(port, socket, rtcp);
    } catch (error) {
      this.#giveBack(port);
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
      throw error;
    }
  }

  #entry(port: number, socket: Socket, rtcp: Socket | null): RtpSocket {
    let open = true;
    const release = (): void => {
      if (!open) return;
      open = false;
      socket.close();
      rtcp?.close();
      this.#giveBack(port);
    };
    return { port, socket, rtcp, release };
  }

  #giveBack(port: number): void {
    this.#taken.delete(port);
    this.#releasedAt.set(port, performance.now());
  }

  /** With nothing but resting ports left, waits for one of them once. */
  async #waitForDrained(): Promise<RtpSocket> {
    if (this.#taken.size < this.#count) {
      await new Promise(resolve => setTimeout(resolve, drainMs + 10));
      const port = this.#reserve();
      const found = port === null ? null : await this.#bind(port);
      if (found) return found;
    }
    throw new RtpPortsExhaustedError(this.#range);
  }
}

async function bindUdp(port: number, host: string): Promise<Socket> {
  const six = isIPv6(host);
  const socket = createSocket({
    type: six ? 'udp6' : 'udp4',
    recvBufferSize: receiveBuffer,
    // Asked for every packet: addresses are literal, so it is synchronous and makes nothing anew. IPv4 is written in an IPv6
    // way on a socket that speaks both (RFC 4291 section 2.5.5.2).
    lookup: (address, _options, done) => {
      if (isIPv6(address)) done(null, address, 6);
      else if (six) done(null, `::ffff:${address}`, 6);
      else done(null, address, 4);
    },
  });
  try {
    const listening = once(socket, 'listening'); // before bind(): with a synchronous look-up it is emitted inside
    socket.bind(port, host);
    await listening;
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  }
}

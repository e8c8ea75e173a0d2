import { localAddressFor } from './addresses.ts';
import { addressed, defaultPort, literalOf, type Hop, type Transport } from './hop.ts';
import type { Ears, SipTransport } from './transports/sip-transport.ts';
import { Doorkeeper } from './transports/doorkeeper.ts';
import { StreamTransport } from './transports/stream.ts';
import { tcpDoor } from './transports/tcp.ts';
import { tlsDoor } from './transports/tls.ts';
import { UdpTransport } from './transports/udp.ts';
import { WebSocketTransport } from './transports/websocket.ts';
import type { Certificates } from './certificates.ts';

/** A socket to listen on. Port 0 takes any free one. */
export interface SipListener {
  transport: Transport;
  host: string;
  port: number;
}

export interface LayerOptions {
  /** Shown to peers that are not on our own subnet. */
  advertisedAddress?: string;
  /** Needed by TLS and WSS listeners. */
  certificates?: Certificates;
  /** How many connections an address, or a network of IPv6, may have; 0 for any number, 1000 by default. */
  connectionsPerSource?: number;
}

/** The transport layer (RFC 3261 18): one transport per listener. */
export class TransportLayer {
  readonly #listeners: SipListener[];
  readonly #hear: Omit<Ears, 'localAddress'>;
  readonly #advertised: string | undefined;
  readonly #certificates: Certificates | undefined;
  #open: SipTransport[] = [];

  constructor(listeners: SipListener[], hear: Omit<Ears, 'localAddress' | 'doorkeeper'>, options: LayerOptions = {}) {
    this.#listeners = listeners;
    this.#hear = { ...hear, doorkeeper: new Doorkeeper(hear.patienceMs, options.connectionsPerSource) };
    this.#advertised = options.advertisedAddress;
    this.#certificates = options.certificates;
  }

  /** With their actual ports; none before `start`. */
  get listeners(): SipListener[] {
    return this.#open.map(({ transport, host, port }) => ({ transport, host, port }));
  }

  /** All or nothing: when one port is taken the others are given back and the error names the taken one. */
  async start(): Promise<void> {
    try {
      for (const listener of this.#listeners) {
        const one = this.#newFor(listener);
        await one.start();
        this.#open.push(one);
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** @throws Error for an encrypted listener without certificates */
  #newFor(listener: SipListener): SipTransport {
    const { transport, host } = listener;
    const ears: Ears = { ...this.#hear, localAddress: peer => localAddressFor(peer, host, this.#advertised) };
    if (transport === 'udp') return new UdpTransport(listener, ears);
    if (transport === 'tcp') return new StreamTransport(listener, tcpDoor, ears);
    if (transport === 'ws') return new WebSocketTransport(listener, ears);
    if (!this.#certificates) throw new Error(`cannot listen on ${transport} without a certificate`);
    if (transport === 'wss') return new WebSocketTransport(listener, ears, this.#certificates);
    return new StreamTransport(listener, tlsDoor(this.#certificates), ears);
  }

  async stop(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    this.#hear.doorkeeper.stop();
    await Promise.all(open.map(one => one.stop()));
  }

  /** For an address the listener of its version of IP; a name may turn out to be either. */
  #openFor({ transport, host }: Hop): SipTransport | undefined {
    const address = literalOf(host);
    return this.#open.find(one => one.transport === transport && (address === undefined || one.reaches(address)));
  }

  /** What to write into Via and Contact for a message to this hop; undefined when we do not speak its transport. */
  localFor(hop: Hop): SipListener | undefined {
    const open = this.#openFor(hop);
    if (!open) return undefined;
    const host = localAddressFor(hop.host, open.host, this.#advertised);
    return { transport: hop.transport, host, port: open.port };
  }

  /** True for a hop that leads back to one of our own listeners. */
  isSelf(hop: Hop): boolean {
    const local = this.localFor(hop);
    const address = literalOf(hop.host);
    return (
      local !== undefined &&
      (hop.port || defaultPort(hop.transport)) === local.port &&
      (address === local.host || address === this.#advertised)
    );
  }

  /** Whether a listener of ours speaks that transport, and to that address. */
  reaches(transport: Transport, address?: string): boolean {
    return this.#open.some(one => one.transport === transport && (address === undefined || one.reaches(address)));
  }

  /** Sends a message as it is on the wire to a hop with an address; `failed` is called later, never before this returns. */
  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void {
    const address = literalOf(hop.host);
    const open = this.#openFor(hop);
    if (address === undefined) setImmediate(failed, new Error(`${hop.host} is no address`));
    else if (!open) setImmediate(failed, new Error(`no ${hop.transport} listener for ${hop.host}`));
    else open.send(data, addressed(hop, address), failed);
  }

  /** Asks a silent peer once more; `refused` is called when its machine says that nobody listens there. */
  probe(hop: Hop, refused: (error: Error) => void): void {
    const address = literalOf(hop.host);
    if (address !== undefined) this.#openFor(hop)?.probe(addressed(hop, address), refused);
  }

  /** What comes from there is not to be lost among what others send. */
  openLine(peer: Hop): void {
    this.#openFor(peer)?.openLine(peer);
  }

  /** Whether a stream to exactly this address is open; always true for UDP. */
  connected(hop: Hop): boolean {
    return this.#openFor(hop)?.connected(hop) ?? false;
  }

  /** How many streams are open. */
  connections(): number {
    return this.#open.reduce((sum, one) => sum + one.connections(), 0);
  }
}

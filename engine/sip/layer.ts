import { localAddressFor } from './addresses.ts';
import { literalOf, resolveHopOnce, DEFAULT_PORT, type Hop, type Transport } from './hop.ts';
import { serialize, type SipMessage } from './message.ts';
import type { Carrier, Receiver } from './transports/carrier.ts';
import { TcpCarrier } from './transports/tcp.ts';
import { UdpCarrier } from './transports/udp.ts';

/** A socket to listen on. Port 0 takes any free one. */
export interface SipListener {
  transport: Transport;
  host: string;
  port: number;
}

/** The transport layer (RFC 3261 18): one carrier per listener, names resolved on the way out. */
export class TransportLayer {
  readonly #listeners: SipListener[];
  readonly #receive: Receiver;
  readonly #advertised: string | undefined;
  #carriers: Carrier[] = [];

  constructor(listeners: SipListener[], receive: Receiver, advertised?: string) {
    this.#listeners = listeners;
    this.#receive = receive;
    this.#advertised = advertised;
  }

  get listeners(): SipListener[] {
    return this.#carriers.map(({ transport, host, port }) => ({ transport, host, port }));
  }

  /** All or nothing: when one port is taken the others are given back and the error names the taken one. */
  async start(): Promise<void> {
    try {
      for (const listener of this.#listeners) {
        const carrier = this.#carrierFor(listener);
        await carrier.start();
        this.#carriers.push(carrier);
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  #carrierFor({ transport, host, port }: SipListener): Carrier {
    const local = (peer: string): string => localAddressFor(peer, host, this.#advertised);
    const Kind = transport === 'udp' ? UdpCarrier : TcpCarrier;
    return new Kind(host, port, this.#receive, local);
  }

  async stop(): Promise<void> {
    const open = this.#carriers;
    this.#carriers = [];
    await Promise.all(open.map(carrier => carrier.stop()));
  }

  #carrier(transport: Transport): Carrier | undefined {
    return this.#carriers.find(carrier => carrier.transport === transport);
  }

  /** What to write into Via and Contact for a message to this hop; undefined when we do not speak its transport. */
  localFor(hop: Hop): SipListener | undefined {
    const carrier = this.#carrier(hop.transport);
    if (!carrier) return undefined;
    const host = localAddressFor(hop.host, carrier.host, this.#advertised);
    return { transport: hop.transport, host, port: carrier.port };
  }

  /** True for a hop that leads back to one of our own listeners. */
  isSelf(hop: Hop): boolean {
    const local = this.localFor(hop);
    const address = literalOf(hop.host);
    return (
      local !== undefined &&
      (hop.port || DEFAULT_PORT) === local.port &&
      (address === local.host || address === this.#advertised)
    );
  }

  send(message: SipMessage, hop: Hop, failed: (error: Error) => void): void {
    const carrier = this.#carrier(hop.transport);
    const data = serialize(message);
    if (!carrier) return void setImmediate(failed, new Error(`no ${hop.transport} listener`));
    const address = literalOf(hop.host);
    if (address !== undefined)
      return carrier.send(data, { ...hop, host: address, port: hop.port || DEFAULT_PORT }, failed);
    resolveHopOnce(hop).then(
      resolved => carrier.send(data, resolved, failed),
      (error: unknown) => failed(new Error(`cannot resolve ${hop.host}`, { cause: error })),
    );
  }

  /** Only for hops that need no name look-up: the others have already been answered by somebody. */
  probe(hop: Hop, refused: (error: Error) => void): void {
    const address = literalOf(hop.host);
    if (address !== undefined)
      this.#carrier(hop.transport)?.probe({ ...hop, host: address, port: hop.port || DEFAULT_PORT }, refused);
  }

  connected(hop: Hop): boolean {
    return this.#carrier(hop.transport)?.connected(hop) ?? false;
  }

  connections(): number {
    return this.#carriers.reduce((sum, carrier) => sum + carrier.connections(), 0);
  }
}

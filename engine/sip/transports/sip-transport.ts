import type { Hop, Source, Transport } from '../hop.ts';
import type { Parsed } from '../parser.ts';
import type { Doorkeeper } from './doorkeeper.ts';

/** An address and a port; port 0 takes any free one. */
export interface Place {
  host: string;
  port: number;
}

/** One listening transport. Messages and refusals go to the ears; `send` reports failure later, never by throwing. */
export interface SipTransport {
  readonly transport: Transport;
  readonly host: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `hop.host` is an address by now. */
  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void;
  /** Calls back if the peer's machine says that nobody listens there; silence means nothing. */
  probe(hop: Hop, refused: (error: Error) => void): void;
  /** Sees to it that what the peer sends is not lost among what others send, where that can be. */
  openLine(peer: Hop): void;
  connections(): number;
  connected(hop: Hop): boolean;
  /** Whether it speaks the address's version of IP. */
  reaches(address: string): boolean;
}

/** Who hears what transports have to say. */
export interface Ears {
  receive(parsed: Parsed, source: Source): void;
  /** A connection to or from there is gone. */
  closed(peer: Hop): void;
  /** Lets connections in. */
  doorkeeper: Doorkeeper;
  /** How long a peer may take to bring a message that it has begun, in ms. */
  patienceMs: number;
  /** Which of our addresses a peer sees. */
  localAddress(peer: string): string;
}

import type { Hop, Source, Transport } from '../hop.ts';
import type { Parsed } from '../parser.ts';

/** One listening transport. Messages and refusals go to the receiver; `send` reports failure later, never by throwing. */
export interface Carrier {
  readonly transport: Transport;
  readonly host: string;
  readonly port: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `hop.host` is an address by now. */
  send(data: Buffer, hop: Hop, failed: (error: Error) => void): void;
  /** Calls back if the peer's machine says that nobody listens there; silence means nothing. */
  probe(hop: Hop, refused: (error: Error) => void): void;
  connections(): number;
  connected(hop: Hop): boolean;
}

export type Receiver = (parsed: Parsed, source: Source) => void;
/** Which of our addresses a peer sees. */
export type LocalAddress = (peer: string) => string;

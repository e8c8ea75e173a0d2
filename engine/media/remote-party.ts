import type { CodecName } from './codecs/table.ts';
import type { Protection } from './secure/protection.ts';

/** Directions of RFC 8866 §6.7. */
export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** The far end of a leg as its session description tells. */
export interface RemoteParty {
  address: string;
  port: number;
  codec: CodecName;
  payloadType: number;
  /** Payload number of telephone-event at the codec's clock; null sends digits as tones. */
  telephoneEvent: number | null;
  /** Milliseconds of audio per packet that the party wants, 10 to 120. */
  ptime: number;
  /** As the party means it: with `sendonly` and `inactive` we send nothing to it. */
  direction: Direction;
  /** How its packets and ours are protected; plain RTP without. */
  protection?: Protection | null;
  /** Whether control packets share the media's port. */
  multiplexed?: boolean;
}

/** True when the party wants to hear us. */
export function listens(remote: RemoteParty): boolean {
  const wanted = remote.direction === 'sendrecv' || remote.direction === 'recvonly';
  if (remote.protection?.kind === 'dtls') return wanted; // its connectivity checks tell where
  return wanted && remote.port > 0 && remote.address !== '0.0.0.0' && remote.address !== '::';
}

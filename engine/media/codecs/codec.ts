import type { sampleRate, wideRate } from '../clock.ts';

/** One direction of a codec, from bytes to samples. Keeps state from packet to packet where the codec has any. */
export interface Decoder {
  /**
   * Writes what `[from, to)` of `bytes` says into `samples`; the number of samples, 0 for what cannot be decoded.
   * `samples` has room for 200 ms.
   */
  decode(bytes: Uint8Array, from: number, to: number, samples: Int16Array): number;
  /** Forgets what came before: another stream begins. */
  restart(): void;
}

/** The other direction. */
export interface Encoder {
  /** Writes `count` samples, read from `from`, into `bytes` from `to` on; the number of bytes. */
  encode(samples: Int16Array, from: number, count: number, bytes: Uint8Array, to: number): number;
}

/** What a session description has to know of a codec, and its two directions (RFC 3551, RFC 7587). */
export interface AudioCodec<Name extends string = string> {
  readonly name: Name;
  /** The static payload number, or the one that our offers use. */
  readonly payloadType: number;
  /** Whether the number is reserved for this codec and needs no rtpmap (RFC 3551 section 6). */
  readonly isStatic: boolean;
  /** Ticks of the RTP timestamp in a second. */
  readonly clock: number;
  /** Samples per second that its decoders give and its encoders take. */
  readonly rate: typeof sampleRate | typeof wideRate;
  /** Samples per second as FreeSWITCH tells of it in variables and events: for Opus more than we have inside. */
  readonly toldRate: number;
  /** Channels in the rtpmap; what is heard is always mono. */
  readonly channels: 1 | 2;
  /** Parameters that our descriptions carry for it. */
  readonly fmtp: string | null;
  /** Lengths of a packet in milliseconds that it can have. */
  readonly packetTimes: readonly number[];
  openDecoder(): Decoder;
  openEncoder(): Encoder;
}

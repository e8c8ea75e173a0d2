import type { EncapsulationName } from '#contract/media-stream';

/** Samples and bytes of the 20 ms that everything on the audio road is cut into: 8 kHz, 16 bits, mono. */
export const FRAME_SAMPLES = 160;
export const FRAME_BYTES = 320;

/** How one media stream wraps its frames; it counts, so every stream has its own. */
export interface Encapsulation {
  /** Wraps 20 ms of samples. */
  encode(samples: Buffer): Buffer;
  /** The samples in a frame of the far end; undefined when the frame is none, which is to be dropped. */
  decode(frame: Buffer): Buffer | undefined;
}

/** RFC 3551 leaves 96 to agreement; here it is 16-bit little-endian at 8 kHz. */
const RTP_TYPE = 96;
const RTP_HEADER = 12;
const AUDIOSOCKET_AUDIO = 0x10;
const AUDIOSOCKET_HEADER = 3;

const wholeSamples = (bytes: Buffer): Buffer | undefined =>
  bytes.length > 0 && bytes.length % 2 === 0 ? bytes : undefined;

/** The payload of an RTP packet of the given type (RFC 3550 5.1), without padding and extensions. */
export const rtpPayload = (packet: Buffer, type: number): Buffer | undefined => {
  if (packet.length < RTP_HEADER) return undefined;
  const [first = 0, second = 0] = packet;
  if (first >> 6 !== 2 || (second & 0x7f) !== type) return undefined;
  let start = RTP_HEADER + 4 * (first & 0x0f);
  if (first & 0x10) {
    if (packet.length < start + 4) return undefined;
    start += 4 + 4 * packet.readUInt16BE(start + 2);
  }
  const end = packet.length - (first & 0x20 ? (packet.at(-1) ?? 0) : 0);
  return start < end ? packet.subarray(start, end) : undefined;
};

/** Packets with SSRC 0, counted from 1, without marker; `samples` is what one packet advances the clock by. */
export const rtpPackets = (type: number, samples: number): ((payload: Buffer) => Buffer) => {
  let [sequence, clock] = [0, -samples];
  return payload => {
    sequence = (sequence + 1) & 0xffff;
    clock = (clock + samples) % 2 ** 32;
    const header = Buffer.alloc(RTP_HEADER);
    header.writeUInt8(0x80, 0);
    header.writeUInt8(type, 1);
    header.writeUInt16BE(sequence, 2);
    header.writeUInt32BE(clock, 4);
    return Buffer.concat([header, payload]);
  };
};

const rtp = (): Encapsulation => ({
  encode: rtpPackets(RTP_TYPE, FRAME_SAMPLES),
  decode: frame => {
    const payload = rtpPayload(frame, RTP_TYPE);
    return payload && wholeSamples(payload);
  },
});

const sln = (): Encapsulation => ({ encode: samples => samples, decode: wholeSamples });

const audiosocket = (): Encapsulation => ({
  encode: samples => {
    const header = Buffer.from([AUDIOSOCKET_AUDIO, 0, 0]);
    header.writeUInt16BE(samples.length, 1);
    return Buffer.concat([header, samples]);
  },
  decode: frame => {
    if (frame.length < AUDIOSOCKET_HEADER || frame[0] !== AUDIOSOCKET_AUDIO) return undefined;
    if (frame.readUInt16BE(1) !== frame.length - AUDIOSOCKET_HEADER) return undefined;
    return wholeSamples(frame.subarray(AUDIOSOCKET_HEADER));
  },
});

const MAKERS: Record<EncapsulationName, () => Encapsulation> = { rtp, sln, audiosocket };

/** The wrapping of one stream, by the table of voice-and-flows 15. */
export const encapsulationOf = (name: EncapsulationName): Encapsulation => MAKERS[name]();

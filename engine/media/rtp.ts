import { randomBytes } from 'node:crypto';

/** Bytes of an RTP header without CSRCs or extension. */
export const headerBytes = 12;

/** What a packet says about itself (RFC 3550 §5.1); the payload is `[payloadStart, payloadEnd)` of the packet. */
export interface RtpHeader {
  payloadType: number;
  marker: boolean;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payloadStart: number;
  payloadEnd: number;
}

/** A header to be filled by `parseRtp` again and again. */
export function emptyHeader(): RtpHeader {
  return { payloadType: 0, marker: false, sequence: 0, timestamp: 0, ssrc: 0, payloadStart: 0, payloadEnd: 0 };
}

/** Reads a packet into `header`. False, with `header` in any state, when it is no RTP packet (RFC 3550 §A.1). */
export function parseRtp(packet: Buffer, header: RtpHeader): boolean {
  if (packet.length < headerBytes) return false;
  const first = packet.readUInt8(0);
  const second = packet.readUInt8(1);
  if (first >> 6 !== 2 || isRtcpType(second)) return false;
  header.marker = (second & 0x80) !== 0;
  header.payloadType = second & 0x7f;
  header.sequence = packet.readUInt16BE(2);
  header.timestamp = packet.readUInt32BE(4);
  header.ssrc = packet.readUInt32BE(8);
  return findPayload(packet, first, header);
}

/** RTCP packet types 192-223 as they look in the second byte (RFC 5761 §4). */
export function isRtcpType(second: number): boolean {
  return second >= 192 && second <= 223;
}

/** Length of a packet's header with CSRCs and extension, Infinity where the packet is too short for it. */
export function rtpHeaderLength(packet: Buffer): number {
  const first = packet.readUInt8(0);
  const start = headerBytes + (first & 0x0f) * 4;
  if ((first & 0x10) === 0) return start;
  return start + 4 > packet.length ? Infinity : start + 4 + packet.readUInt16BE(start + 2) * 4;
}

function findPayload(packet: Buffer, first: number, header: RtpHeader): boolean {
  const start = rtpHeaderLength(packet);
  if (start > packet.length) return false;
  const padding = (first & 0x20) !== 0 ? packet.readUInt8(packet.length - 1) : 0;
  if ((first & 0x20) !== 0 && padding === 0) return false;
  header.payloadStart = start;
  header.payloadEnd = packet.length - padding;
  return start <= header.payloadEnd;
}

/** Writes a header of twelve bytes at the start of `packet`. */
export function writeRtpHeader(
  packet: Buffer,
  payloadType: number,
  marker: boolean,
  stream: OutgoingStream,
  timestamp: number,
): void {
  packet.writeUInt8(0x80, 0);
  packet.writeUInt8((marker ? 0x80 : 0) | payloadType, 1);
  packet.writeUInt16BE(stream.sequence, 2);
  packet.writeUInt32BE(timestamp >>> 0, 4);
  packet.writeUInt32BE(stream.ssrc, 8);
}

/** Sequence number, timestamp and SSRC of what we send, starting at random values (RFC 3550 §5.1). */
export class OutgoingStream {
  readonly ssrc = randomBytes(4).readUInt32BE(0);
  sequence = randomBytes(2).readUInt16BE(0);
  timestamp = randomBytes(4).readUInt32BE(0);

  /** Counts a packet. */
  packetSent(): void {
    this.sequence = (this.sequence + 1) & 0xffff;
  }

  /** Moves the media time on by this many samples. */
  advance(samples: number): void {
    this.timestamp = (this.timestamp + samples) >>> 0;
  }
}

/** Signed distance from `b` to `a` on the circle of sequence numbers. */
export function sequenceDistance(a: number, b: number): number {
  return ((a - b) << 16) >> 16;
}

/** Signed distance from `b` to `a` on the circle of timestamps. */
export function timestampDistance(a: number, b: number): number {
  return (a - b) | 0;
}

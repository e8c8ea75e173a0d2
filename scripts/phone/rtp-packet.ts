/** RTP (RFC 3550 section 5.1) and telephone events (RFC 4733 section 2.3). */

export interface RtpPacket {
  payloadType: number;
  marker: boolean;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: Buffer;
}

export interface TelephoneEvent {
  event: number;
  end: boolean;
  /** In timestamp units: 8 make a millisecond. */
  duration: number;
}

/** Undefined for what is no RTP of version 2. */
export function parseRtp(data: Buffer): RtpPacket | undefined {
  if (data.length < 12 || (data[0] ?? 0) >> 6 !== 2) return undefined;
  const flags = data.readUInt8(0);
  const start = headerLength(data, flags);
  const padding = flags & 0x20 ? data.readUInt8(data.length - 1) : 0;
  if (start + padding > data.length) return undefined;
  const second = data.readUInt8(1);
  return {
    payloadType: second & 0x7f,
    marker: (second & 0x80) !== 0,
    sequence: data.readUInt16BE(2),
    timestamp: data.readUInt32BE(4),
    ssrc: data.readUInt32BE(8),
    payload: data.subarray(start, data.length - padding),
  };
}

function headerLength(data: Buffer, flags: number): number {
  const fixed = 12 + (flags & 0x0f) * 4;
  if (!(flags & 0x10)) return fixed;
  return fixed + 4 > data.length ? Infinity : fixed + 4 + data.readUInt16BE(fixed + 2) * 4;
}

/** The packet on the wire, without CSRCs, extension and padding (RFC 3550 section 5.1). */
export function formatRtp(packet: RtpPacket): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt8(0x80, 0);
  head.writeUInt8((packet.marker ? 0x80 : 0) | packet.payloadType, 1);
  head.writeUInt16BE(packet.sequence & 0xffff, 2);
  head.writeUInt32BE(packet.timestamp >>> 0, 4);
  head.writeUInt32BE(packet.ssrc >>> 0, 8);
  return Buffer.concat([head, packet.payload]);
}

/** A key press in the payload of a packet (RFC 4733 section 2.3); undefined when it is too short to be one. */
export function parseEvent(payload: Buffer): TelephoneEvent | undefined {
  if (payload.length < 4) return undefined;
  return { event: payload.readUInt8(0), end: (payload.readUInt8(1) & 0x80) !== 0, duration: payload.readUInt16BE(2) };
}

/** Volume 10 means -10 dBm0, the usual level of a key. */
export function formatEvent(event: TelephoneEvent): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt8(event.event, 0);
  payload.writeUInt8((event.end ? 0x80 : 0) | 10, 1);
  payload.writeUInt16BE(Math.min(event.duration, 0xffff), 2);
  return payload;
}

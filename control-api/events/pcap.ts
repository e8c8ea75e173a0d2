import { isIPv6 } from 'node:net';
import { toMillis } from '#contract/time';
import type { SipMessageRecord } from '#contract/timeline';

/** Packets begin with their IP header (LINKTYPE_RAW, https://www.tcpdump.org/linktypes.html). */
const LINKTYPE_RAW = 101;
const SNAPLEN = 262_144;
const PROTOCOL = { tcp: 6, udp: 17 } as const;
const PSH_ACK = 0x18;

interface Frame {
  source: Buffer;
  destination: Buffer;
  protocol: keyof typeof PROTOCOL;
  /** Everything behind the IP header, its checksum still 0. */
  segment: Buffer;
}

/** The bytes of an address; all zero when nobody knew it. */
const addressBytes = (text: string): Buffer => {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return Buffer.from(text.split('.').map(Number));
  if (!isIPv6(text)) return Buffer.alloc(4);
  const [head = '', tail] = text.replace(/%.*/, '').split('::');
  const groups = (part: string): number[] => (part ? part.split(':').map(group => Number.parseInt(group, 16)) : []);
  const [left, right] = [groups(head), groups(tail ?? '')];
  const bytes = Buffer.alloc(16);
  [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right]
    .slice(0, 8)
    .forEach((group, at) => bytes.writeUInt16BE(group & 0xffff, at * 2));
  return bytes;
};

/** Both ends in one family: an unknown end takes that of the known one. */
const ends = (message: SipMessageRecord): [Buffer, Buffer] => {
  const [source, destination] = [addressBytes(message.src_ip), addressBytes(message.dst_ip)];
  if (source.length === destination.length) return [source, destination];
  const wide = (bytes: Buffer): Buffer => (bytes.length === 16 ? bytes : Buffer.alloc(16));
  return [wide(source), wide(destination)];
};

/** The Internet checksum (RFC 1071). */
const checksum = (...parts: Buffer[]): number => {
  const bytes = Buffer.concat(parts);
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
};

/** RFC 768. */
const udp = (message: SipMessageRecord, payload: Buffer): Buffer => {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(message.src_port, 0);
  header.writeUInt16BE(message.dst_port, 2);
  header.writeUInt16BE(8 + payload.length, 4);
  return Buffer.concat([header, payload]);
};

/** RFC 9293 section 3.1. Sequence numbers count what each side has sent, so that readers can put streams together. */
const tcp = (message: SipMessageRecord, payload: Buffer, sequence: number, acknowledged: number): Buffer => {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(message.src_port, 0);
  header.writeUInt16BE(message.dst_port, 2);
  header.writeUInt32BE(sequence >>> 0, 4);
  header.writeUInt32BE(acknowledged >>> 0, 8);
  header.writeUInt8(5 << 4, 12);
  header.writeUInt8(PSH_ACK, 13);
  header.writeUInt16BE(0xffff, 14);
  return Buffer.concat([header, payload]);
};

/** RFC 791 section 3.1 or RFC 8200 section 3, with the checksum of what it carries. */
const packet = ({ source, destination, protocol, segment }: Frame): Buffer => {
  const number = PROTOCOL[protocol];
  const pseudo = Buffer.from([0, 0, 0, number, 0, 0, segment.length >>> 8, segment.length & 0xff]);
  const sum = checksum(source, destination, pseudo, segment) || 0xffff;
  segment.writeUInt16BE(sum, protocol === 'udp' ? 6 : 16);
  if (source.length === 16) {
    const header = Buffer.from([0x60, 0, 0, 0, segment.length >>> 8, segment.length & 0xff, number, 64]);
    return Buffer.concat([header, source, destination, segment]);
  }
  const length = 20 + segment.length;
  const header = Buffer.from([0x45, 0, length >>> 8, length & 0xff, 0, 0, 0x40, 0, 64, number, 0, 0]);
  header.writeUInt16BE(checksum(header, source, destination), 10);
  return Buffer.concat([header, source, destination, segment]);
};

const record = (message: SipMessageRecord, bytes: Buffer): Buffer => {
  const header = Buffer.alloc(16);
  const micros = Math.round(toMillis(message.timestamp) * 1000);
  header.writeUInt32LE(Math.floor(micros / 1_000_000), 0);
  header.writeUInt32LE(micros % 1_000_000, 4);
  header.writeUInt32LE(bytes.length, 8);
  header.writeUInt32LE(bytes.length, 12);
  return Buffer.concat([header, bytes]);
};

const fileHeader = (): Buffer => {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(SNAPLEN, 16);
  header.writeUInt32LE(LINKTYPE_RAW, 20);
  return header;
};

/**
 * SIP messages as a capture file that Wireshark opens. The texts, times and addresses are what was seen; the frames
 * around them are made here, with stream transports (TLS and WebSocket too, as clear text) as TCP.
 */
export const pcapOf = (messages: SipMessageRecord[]): Buffer => {
  const sent = new Map<string, number>();
  const frames = messages.map(message => {
    const payload = Buffer.from(message.raw, 'utf8').subarray(0, 65_000);
    const [source, destination] = ends(message);
    if (message.transport === 'udp')
      return record(message, packet({ source, destination, protocol: 'udp', segment: udp(message, payload) }));
    const [from, to] = [`${message.src_ip} ${message.src_port}`, `${message.dst_ip} ${message.dst_port}`];
    const [forth, back] = [`${from} ${to}`, `${to} ${from}`];
    const sequence = sent.get(forth) ?? 1;
    sent.set(forth, sequence + payload.length);
    const segment = tcp(message, payload, sequence, sent.get(back) ?? 1);
    return record(message, packet({ source, destination, protocol: 'tcp', segment }));
  });
  return Buffer.concat([fileHeader(), ...frames]);
};

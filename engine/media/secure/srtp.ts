import { createHmac, timingSafeEqual } from 'node:crypto';
import { rtpHeaderLength } from '../rtp.ts';
import { Keystream, longestPacket } from './keystream.ts';
import { ReplayWindow } from './replay-window.ts';
import type { MasterKey } from './srtp-keys.ts';
import { sessionKeys, suites } from './srtp-keys.ts';

const rtcpTag = 10;
const rtcpHeader = 8;
const rtcpIndex = 4;
const encrypted = 0x80000000;
/** A party has one stream, and another one after a transfer at its end: of more, the one that was heard of least recently is forgotten. */
const maxStreams = 16;

/** The sending half of SRTP and SRTCP (RFC 3711): packets are protected in place, in buffers with room behind them. */
export class SrtpSender {
  readonly #tagBytes: number;
  readonly #rtp: Keystream;
  readonly #rtcp: Keystream;
  readonly #rtpKey: Buffer;
  readonly #rtcpKey: Buffer;
  readonly #rollover = Buffer.alloc(4);
  #lastSequence = -1;
  #cycles = 0;
  #rtcpIndex = 0;

  constructor(master: MasterKey) {
    const rtp = sessionKeys(master, 'rtp');
    const rtcp = sessionKeys(master, 'rtcp');
    this.#tagBytes = suites[master.suite];
    this.#rtp = new Keystream(rtp.encryption, rtp.salt);
    this.#rtcp = new Keystream(rtcp.encryption, rtcp.salt);
    this.#rtpKey = rtp.authentication;
    this.#rtcpKey = rtcp.authentication;
  }

  /** Protects the RTP packet in the first `length` bytes, one of a single stream in order; the new length. */
  rtp(packet: Buffer, length: number): number {
    const sequence = packet.readUInt16BE(2);
    if (this.#lastSequence >= 0 && sequence < this.#lastSequence) this.#cycles += 1;
    this.#lastSequence = sequence;
    const header = rtpHeaderLength(packet);
    this.#rtp.apply(packet, header, length, packet.readUInt32BE(8), this.#cycles * 0x10000 + sequence);
    this.#rollover.writeUInt32BE(this.#cycles >>> 0, 0);
    const mac = createHmac('sha1', this.#rtpKey).update(packet.subarray(0, length)).update(this.#rollover).digest();
    return length + mac.copy(packet, length, 0, this.#tagBytes);
  }

  /** The protected copy of a compound RTCP packet. */
  rtcp(packet: Buffer): Buffer {
    const out = Buffer.alloc(packet.length + rtcpIndex + rtcpTag);
    packet.copy(out);
    this.#rtcp.apply(out, rtcpHeader, packet.length, packet.readUInt32BE(4), this.#rtcpIndex);
    out.writeUInt32BE((encrypted | this.#rtcpIndex) >>> 0, packet.length);
    this.#rtcpIndex = (this.#rtcpIndex + 1) & 0x7fffffff;
    const authentic = out.subarray(0, packet.length + rtcpIndex);
    createHmac('sha1', this.#rtcpKey).update(authentic).digest().copy(out, authentic.length, 0, rtcpTag);
    return out;
  }
}

/** The receiving half: opens packets in place, and tells those that are forged, repeated or broken. */
export class SrtpReceiver {
  readonly #tagBytes: number;
  readonly #rtp: Keystream;
  readonly #rtcp: Keystream;
  readonly #rtpKey: Buffer;
  readonly #rtcpKey: Buffer;
  readonly #rollover = Buffer.alloc(4);
  readonly #streams = new Map<number, ReplayWindow>();
  readonly #reports = new Map<number, ReplayWindow>();

  constructor(master: MasterKey) {
    const rtp = sessionKeys(master, 'rtp');
    const rtcp = sessionKeys(master, 'rtcp');
    this.#tagBytes = suites[master.suite];
    this.#rtp = new Keystream(rtp.encryption, rtp.salt);
    this.#rtcp = new Keystream(rtcp.encryption, rtcp.salt);
    this.#rtpKey = rtp.authentication;
    this.#rtcpKey = rtcp.authentication;
  }

  /** Length of the RTP packet that was inside, decrypted in place; null for what must be dropped. */
  rtp(packet: Buffer): number | null {
    const length = packet.length - this.#tagBytes;
    const header = packet.length < 12 ? Infinity : rtpHeaderLength(packet);
    if (header > length || length > longestPacket) return null;
    const ssrc = packet.readUInt32BE(8);
    const stream = this.#streams.get(ssrc) ?? new ReplayWindow();
    const index = indexOf(packet.readUInt16BE(2), stream.highest);
    if (!stream.isNew(index)) return null;
    this.#rollover.writeUInt32BE(Math.floor(index / 0x10000) >>> 0, 0);
    const mac = createHmac('sha1', this.#rtpKey).update(packet.subarray(0, length)).update(this.#rollover).digest();
    if (!timingSafeEqual(mac.subarray(0, this.#tagBytes), packet.subarray(length))) return null;
    admit(this.#streams, ssrc, stream, index);
    this.#rtp.apply(packet, header, length, ssrc, index);
    return length;
  }

  /** Length of the RTCP packet that was inside, decrypted in place; null for what must be dropped. */
  rtcp(packet: Buffer): number | null {
    const authentic = packet.length - rtcpTag;
    const length = authentic - rtcpIndex;
    if (length < rtcpHeader || length > longestPacket) return null;
    const mac = createHmac('sha1', this.#rtcpKey).update(packet.subarray(0, authentic)).digest();
    if (!timingSafeEqual(mac.subarray(0, rtcpTag), packet.subarray(authentic))) return null;
    const ssrc = packet.readUInt32BE(4);
    const word = packet.readUInt32BE(length);
    const index = word & 0x7fffffff;
    const stream = this.#reports.get(ssrc) ?? new ReplayWindow();
    if (!stream.isNew(index)) return null;
    admit(this.#reports, ssrc, stream, index);
    if (word >= encrypted) this.#rtcp.apply(packet, rtcpHeader, length, ssrc, index);
    return length;
  }
}

let turn = 0;

function admit(streams: Map<number, ReplayWindow>, ssrc: number, stream: ReplayWindow, index: number): void {
  stream.mark(index);
  stream.usedAt = ++turn;
  if (streams.has(ssrc)) return;
  if (streams.size >= maxStreams) forgetOne(streams);
  streams.set(ssrc, stream);
}

function forgetOne(streams: Map<number, ReplayWindow>): void {
  const [oldest] = [...streams].reduce((one, other) => (other[1].usedAt < one[1].usedAt ? other : one));
  streams.delete(oldest);
}

/** The packet index nearest to the highest so far (RFC 3711 section 3.3.1). */
function indexOf(sequence: number, highest: number): number {
  if (highest < 0) return sequence;
  const near = highest - (highest % 0x10000) + sequence;
  if (near - highest > 0x8000) return near - 0x10000;
  return highest - near > 0x8000 ? near + 0x10000 : near;
}

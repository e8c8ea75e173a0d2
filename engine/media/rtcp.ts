import type { RemoteInfo } from 'node:dgram';
import type { RtpReceiver } from './rtp-receiver.ts';
import type { RtpSender } from './rtp-sender.ts';
import type { Wire } from './wire.ts';

const intervalTicks = 250;
const firstTick = 50;
const senderReport = 200;
const receiverReport = 201;
const description = 202;
const ntpEpoch = 2_208_988_800;
const blockBytes = 24;
/** A longer round trip is a mistake of the far end's clock. */
const longestTripMs = 10_000;

/** What the party says of our stream, and how far away it is. Zeros before its first report. */
export interface PartyReport {
  round_trip_ms: number;
  /** Share of our packets lost since its report before, in percent. */
  loss_rate: number;
  lost: number;
  jitter_ms: number;
}

/**
 * Control packets of a leg: after a second and then every five a sender or receiver report with our view of the party's stream, and a
 * name (RFC 3550 §6.4, §6.5). Reports go to the port above the party's, or where its own come from, or to the media's port.
 */
export class Rtcp {
  /** Control packets that the party has sent, and their bytes. */
  received = 0;
  bytes = 0;
  readonly party: PartyReport = { round_trip_ms: 0, loss_rate: 0, lost: 0, jitter_ms: 0 };
  readonly #wire: Wire;
  readonly #sender: RtpSender;
  readonly #receiver: RtpReceiver;
  #ticks = 0;
  #replyPort: number | null = null;
  #lastLost = 0;
  #lastExpected = 0;
  /** The middle of the time in the party's last sender report, and when it came (RFC 3550 §6.4.1, LSR and DLSR). */
  #lastReport = 0;
  #lastReportAt = 0;

  constructor(wire: Wire, sender: RtpSender, receiver: RtpReceiver) {
    this.#wire = wire;
    this.#sender = sender;
    this.#receiver = receiver;
  }

  /** To be called at every tick. */
  tick(): void {
    this.#ticks += 1;
    if (this.#ticks % intervalTicks !== firstTick) return;
    const to = this.#receiver.source;
    if (to) this.#wire.sendRtcp(this.#report(), to, this.#replyPort);
  }

  /** Takes a compound packet, whatever it holds. `authentic`: it cannot be a stranger's. */
  take(bytes: Buffer, from: RemoteInfo, authentic: boolean): void {
    if (bytes.length < 8 || bytes.readUInt8(0) >> 6 !== 2) return;
    if (!authentic && from.address !== this.#receiver.source?.address) return;
    if (bytes.readUInt8(1) < senderReport || bytes.readUInt8(1) > 207) return;
    this.received += 1;
    this.bytes += bytes.length;
    this.#replyPort = from.port;
    for (let at = 0; at + 8 <= bytes.length; at += 4 * (bytes.readUInt16BE(at + 2) + 1))
      this.#read(bytes.subarray(at, at + 4 * (bytes.readUInt16BE(at + 2) + 1)));
  }

  #read(packet: Buffer): void {
    const type = packet.readUInt8(1);
    const head = type === senderReport ? 28 : 8;
    if ((type !== senderReport && type !== receiverReport) || packet.length < head) return;
    if (type === senderReport) {
      this.#lastReport = packet.readUInt32BE(10);
      this.#lastReportAt = Date.now();
    }
    const blocks = Math.min(packet.readUInt8(0) & 0x1f, Math.floor((packet.length - head) / blockBytes));
    for (let i = 0; i < blocks; i++) this.#readBlock(packet, head + i * blockBytes);
  }

  /** The party's view of our stream (RFC 3550 §6.4.1). */
  #readBlock(packet: Buffer, at: number): void {
    if (packet.readUInt32BE(at) !== this.#sender.stream.ssrc) return;
    this.party.loss_rate = (100 * packet.readUInt8(at + 4)) / 256;
    this.party.lost = packet.readIntBE(at + 5, 3);
    this.party.jitter_ms = (1000 * packet.readUInt32BE(at + 12)) / this.#sender.clockRate;
    const sent = packet.readUInt32BE(at + 16);
    const trip = ((ntpMiddle(Date.now()) - sent - packet.readUInt32BE(at + 20)) | 0) / 65.536;
    if (sent !== 0 && trip < longestTripMs) this.party.round_trip_ms = Math.max(0, trip);
  }

  #report(): Buffer {
    const sending = this.#sender.counts.packets > 0;
    const head = Buffer.alloc(sending ? 28 : 8);
    const block = this.#block();
    head.writeUInt8(0x80 | (block.length > 0 ? 1 : 0), 0);
    head.writeUInt8(sending ? senderReport : receiverReport, 1);
    head.writeUInt16BE((head.length + block.length) / 4 - 1, 2);
    head.writeUInt32BE(this.#sender.stream.ssrc, 4);
    if (sending) this.#writeSenderInfo(head);
    return Buffer.concat([head, block, this.#name()]);
  }

  #writeSenderInfo(head: Buffer): void {
    const now = Date.now();
    head.writeUInt32BE((Math.floor(now / 1000) + ntpEpoch) >>> 0, 8);
    head.writeUInt32BE(Math.floor(((now % 1000) / 1000) * 2 ** 32), 12);
    head.writeUInt32BE(this.#sender.stream.timestamp, 16);
    head.writeUInt32BE(this.#sender.counts.packets >>> 0, 20);
    head.writeUInt32BE(this.#sender.counts.mediaBytes >>> 0, 24);
  }

  /** What we have received: loss since the last report and altogether, highest sequence number, jitter, and when its report came. */
  #block(): Buffer {
    const ssrc = this.#receiver.ssrc;
    if (ssrc === null) return Buffer.alloc(0);
    const { lost, expected, highest } = this.#receiver.jitter.sequences();
    const gained = expected - this.#lastExpected;
    const missed = lost - this.#lastLost;
    this.#lastExpected = expected;
    this.#lastLost = lost;
    const block = Buffer.alloc(blockBytes);
    block.writeUInt32BE(ssrc, 0);
    block.writeUInt8(gained > 0 && missed > 0 ? Math.min(255, Math.floor((missed * 256) / gained)) : 0, 4);
    block.writeUIntBE(Math.min(lost, 0x7fffff), 5, 3);
    block.writeUInt32BE(highest >>> 0, 8);
    block.writeUInt32BE(Math.round((this.#receiver.interarrivalJitter * this.#receiver.clockRate) / 1000) >>> 0, 12);
    block.writeUInt32BE(this.#lastReport, 16);
    const since = this.#lastReport === 0 ? 0 : (Date.now() - this.#lastReportAt) * 65.536;
    block.writeUInt32BE(Math.round(since) >>> 0, 20);
    return block;
  }

  /** The canonical name that RFC 3550 §6.5.1 asks for; random, so that it tells nothing. */
  #name(): Buffer {
    const text = Buffer.from(this.#sender.stream.ssrc.toString(16).padStart(8, '0'));
    const chunk = Buffer.alloc(4 + 4 + 2 + text.length + 2);
    chunk.writeUInt8(0x81, 0);
    chunk.writeUInt8(description, 1);
    chunk.writeUInt16BE(chunk.length / 4 - 1, 2);
    chunk.writeUInt32BE(this.#sender.stream.ssrc, 4);
    chunk.writeUInt8(1, 8);
    chunk.writeUInt8(text.length, 9);
    text.copy(chunk, 10);
    return chunk;
  }
}

/** The middle 32 bits of an NTP time: units of 1/65536 s. */
function ntpMiddle(epochMs: number): number {
  return (((Math.floor(epochMs / 1000) + ntpEpoch) & 0xffff) * 0x10000 + Math.floor((epochMs % 1000) * 65.536)) >>> 0;
}

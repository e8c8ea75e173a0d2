import type { RemoteInfo, Socket } from 'node:dgram';
import type { RtpReceiver } from './rtp-receiver.ts';
import type { RtpSender } from './rtp-sender.ts';

const intervalTicks = 250;
const firstTick = 50;
const senderReport = 200;
const receiverReport = 201;
const description = 202;
const ntpEpoch = 2_208_988_800;

/**
 * Control packets of a leg: after a second and then every five a sender or receiver report with our view of the party's stream, and a
 * name (RFC 3550 §6.4, §6.5). Reports go to the port above the party's once its packets come.
 */
export class Rtcp {
  /** Control packets that the party has sent. */
  received = 0;
  readonly #socket: Socket | null;
  readonly #sender: RtpSender;
  readonly #receiver: RtpReceiver;
  #ticks = 0;
  #replyPort: number | null = null;
  #lastLost = 0;
  #lastExpected = 0;

  constructor(socket: Socket | null, sender: RtpSender, receiver: RtpReceiver) {
    this.#socket = socket;
    this.#sender = sender;
    this.#receiver = receiver;
    socket?.on('message', (bytes, from) => this.#take(bytes, from));
    socket?.on('error', () => this.close()); // control packets are a courtesy; media goes on
  }

  /** To be called at every tick. */
  tick(): void {
    this.#ticks += 1;
    if (this.#ticks % intervalTicks !== firstTick) return;
    const to = this.#receiver.source;
    if (this.#socket && to)
      this.#socket.send(this.#report(), this.#replyPort ?? Math.min(65535, to.port + 1), to.address, () => undefined);
  }

  /** Stops reporting. The socket belongs to the leg's port. */
  close(): void {
    this.#ticks = -Infinity;
  }

  #take(bytes: Buffer, from: RemoteInfo): void {
    if (bytes.length < 8 || bytes.readUInt8(0) >> 6 !== 2 || from.address !== this.#receiver.source?.address) return;
    if (bytes.readUInt8(1) < senderReport || bytes.readUInt8(1) > 207) return;
    this.received += 1;
    this.#replyPort = from.port;
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

  /** What we have received: loss since the last report and altogether, highest sequence number. */
  #block(): Buffer {
    const ssrc = this.#receiver.ssrc;
    if (ssrc === null) return Buffer.alloc(0);
    const { lost, expected, highest } = this.#receiver.jitter.sequences();
    const gained = expected - this.#lastExpected;
    const missed = lost - this.#lastLost;
    this.#lastExpected = expected;
    this.#lastLost = lost;
    const block = Buffer.alloc(24);
    block.writeUInt32BE(ssrc, 0);
    block.writeUInt8(gained > 0 && missed > 0 ? Math.min(255, Math.floor((missed * 256) / gained)) : 0, 4);
    block.writeUIntBE(Math.min(lost, 0x7fffff), 5, 3);
    block.writeUInt32BE(highest >>> 0, 8);
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

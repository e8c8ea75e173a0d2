import type { RemoteInfo } from 'node:dgram';
import { plainAddress } from '../sip/addresses.ts';
import type { Packet } from './leg-memory.ts';
import type { RtpSocket } from './rtp-ports.ts';
import type { Source } from './rtp-receiver.ts';
import { isRtcpType } from './rtp.ts';
import { DtlsPath } from './secure/dtls-path.ts';
import type { DtlsProtection, Protection, SdesProtection } from './secure/protection.ts';
import type { MasterKey } from './secure/srtp-keys.ts';
import { SrtpReceiver, SrtpSender } from './secure/srtp.ts';

/** Who gets what comes in. `authentic`: only the party itself can have sent it. */
export interface WireReaders {
  rtp(packet: Buffer, from: RemoteInfo, authentic: boolean): void;
  rtcp(packet: Buffer, from: RemoteInfo, authentic: boolean): void;
  /** Where the party wants its packets by its connectivity checks. */
  path(to: Source): void;
  /** The party and we agree on no keys, and why: nothing is sent or heard. */
  insecure(reason: string): void;
}

const noop = (): void => undefined;

/**
 * The two sockets of a leg: tells apart what comes in on one port (RFC 5761, RFC 7983), protects what goes out, and lets
 * nothing pass that is not protected as agreed.
 */
export class Wire {
  /** Whether control packets share the port of the media (RFC 5761). */
  multiplexed = false;
  readonly #rtp: RtpSocket;
  readonly #readers: WireReaders;
  #protection: Protection | null = null;
  #sender: SrtpSender | null = null;
  #receiver: SrtpReceiver | null = null;
  #dtls: DtlsPath | null = null;

  constructor(rtp: RtpSocket, readers: WireReaders) {
    this.#rtp = rtp;
    this.#readers = readers;
    // Nobody can be answered on port 0, which a forged packet may name: sending there is refused with an exception.
    rtp.socket.on('message', (bytes, from) => from.port > 0 && this.#take(bytes, plain(from)));
    rtp.rtcp?.on('message', (bytes, from) => from.port > 0 && this.#control(bytes, plain(from)));
    rtp.rtcp?.on('error', noop); // control packets are a courtesy; media goes on
  }

  /** What was agreed on. The same keys as before go on where they are; null is plain RTP. */
  protect(protection: Protection | null): void {
    const before = this.#protection;
    this.#protection = protection;
    if (protection?.kind !== 'dtls') this.close();
    if (protection?.kind === 'sdes') this.#useKeys(protection, before?.kind === 'sdes' ? before : null);
    else if (protection?.kind === 'dtls') this.#agreeOnKeys(protection);
    else this.#sender = this.#receiver = null;
  }

  /** Ends a handshake that is under way. */
  close(): void {
    this.#dtls?.close();
    this.#dtls = null;
  }

  /**
   * Sends the RTP packet in the first `length` bytes, which has room for `srtpOverhead` behind it. Nobody asks what became of it,
   * as a call back would cost more than the packet.
   */
  sendRtp(packet: Packet, length: number, to: Source): void {
    if (this.#protection && !this.#sender) return;
    const bytes = this.#sender?.rtp(packet.bytes, length) ?? length;
    this.#rtp.socket.send(packet.cut(bytes), to.port, to.address);
  }

  /** Sends a compound RTCP packet; `port`: where the party's control packets come from, if they have. */
  sendRtcp(packet: Buffer, to: Source, port: number | null): void {
    if (this.#protection && !this.#sender) return;
    const bytes = this.#sender?.rtcp(packet) ?? packet;
    if (this.multiplexed) this.#rtp.socket.send(bytes, to.port, to.address, noop);
    else this.#rtp.rtcp?.send(bytes, port ?? Math.min(65_535, to.port + 1), to.address, noop);
  }

  #useKeys(now: SdesProtection, before: SdesProtection | null): void {
    if (!this.#sender || !before || !sameKey(now.send, before.send)) this.#sender = new SrtpSender(now.send);
    if (!this.#receiver || !before || !sameKey(now.receive, before.receive))
      this.#receiver = new SrtpReceiver(now.receive);
  }

  /** With the same certificate what was agreed on goes on, even where the checks begin anew; with another one it begins anew. */
  #agreeOnKeys(protection: DtlsProtection): void {
    if (this.#dtls?.serves(protection)) return this.#dtls.restart(protection.ice);
    this.close();
    this.#sender = this.#receiver = null;
    this.#dtls = new DtlsPath(protection, {
      send: (packet, to) => this.#rtp.socket.send(packet, to.port, to.address, noop),
      path: to => this.#readers.path(to),
      keys: (send, receive) => {
        this.#sender = new SrtpSender(send);
        this.#receiver = new SrtpReceiver(receive);
      },
      failed: reason => this.#readers.insecure(reason),
    });
  }

  #take(bytes: Buffer, from: RemoteInfo): void {
    if (this.#dtls?.take(bytes, from)) return;
    if (bytes.length > 1 && isRtcpType(bytes.readUInt8(1))) return this.#control(bytes, from);
    if (!this.#protection) return this.#readers.rtp(bytes, from, false);
    const length = this.#receiver?.rtp(bytes) ?? null;
    if (length !== null) this.#readers.rtp(bytes.subarray(0, length), from, true);
  }

  #control(bytes: Buffer, from: RemoteInfo): void {
    if (!this.#protection) return this.#readers.rtcp(bytes, from, false);
    const length = this.#receiver?.rtcp(bytes) ?? null;
    if (length !== null) this.#readers.rtcp(bytes.subarray(0, length), from, true);
  }
}

/** A socket that speaks both kinds writes IPv4 addresses in an IPv6 way, descriptions do not. */
function plain(from: RemoteInfo): RemoteInfo {
  if (from.family === 'IPv6') from.address = plainAddress(from.address);
  return from;
}

function sameKey(a: MasterKey, b: MasterKey): boolean {
  return a.suite === b.suite && a.key.equals(b.key) && a.salt.equals(b.salt);
}

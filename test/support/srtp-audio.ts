import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { RtpHeader, SrtpSession } from 'werift';
import { CallAudio, type DirectedMedia } from '../../scripts/phone/call-audio.ts';
import type { OpenAudio } from '../../scripts/phone/phone.ts';
import { type DatagramSocket, RtpEndpoint } from '../../scripts/phone/rtp-endpoint.ts';
import type { Direction } from '../../scripts/phone/sdp.ts';

const plain = (sdp: string): string => sdp.replace('RTP/SAVP ', 'RTP/AVP ');

/** A UDP socket whose packets are SRTP, by a library that shares no code with the engine. */
class SrtpSocket extends EventEmitter<{ message: [Buffer]; error: [Error] }> implements DatagramSocket {
  readonly #socket: Socket;
  readonly #own = randomBytes(30);
  #theirs = '';
  #session: SrtpSession | undefined;

  static async open(host: string): Promise<SrtpSocket> {
    const socket = createSocket('udp4').bind(0, host);
    await once(socket, 'listening');
    return new SrtpSocket(socket);
  }

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('error', error => this.emit('error', error));
    socket.on('message', packet => {
      const control = (packet[1] ?? 0) >= 192 && (packet[1] ?? 0) <= 223;
      // What is not authentic throws, and fails the test.
      if (!control && this.#session) this.emit('message', this.#session.decrypt(packet));
    });
  }

  /** Our key as descriptions say it. */
  get inline(): string {
    return this.#own.toString('base64');
  }

  /** Takes the other side's key; the same once more changes nothing. */
  secureWith(inline: string): void {
    if (this.#theirs === inline) return;
    this.#theirs = inline;
    const [local, remote] = [this.#own, Buffer.from(inline, 'base64')];
    const keys = {
      ...{ localMasterKey: local.subarray(0, 16), localMasterSalt: local.subarray(16) },
      ...{ remoteMasterKey: remote.subarray(0, 16), remoteMasterSalt: remote.subarray(16) },
    };
    this.#session = new SrtpSession({ keys, profile: 1 });
  }

  address(): { port: number } {
    return this.#socket.address();
  }

  send(packet: Buffer, port: number, host: string, done: () => void): void {
    const protectedPacket = this.#session?.encrypt(packet.subarray(12), RtpHeader.deSerialize(packet));
    if (protectedPacket) this.#socket.send(protectedPacket, port, host, done);
  }

  close(done: () => void): void {
    this.#socket.close(done);
  }
}

/** Offers and answers with a key (RFC 4568), and takes none without. */
class SrtpMedia implements DirectedMedia {
  wanted: Direction = 'sendrecv';
  readonly #socket: SrtpSocket;
  readonly #audio: CallAudio;

  constructor(socket: SrtpSocket, audio: CallAudio) {
    this.#socket = socket;
    this.#audio = audio;
  }

  takes(offer: string): boolean {
    return keyIn(offer) !== undefined && this.#audio.takes(plain(offer));
  }

  offer(): string {
    this.#audio.wanted = this.wanted;
    return this.#secured(this.#audio.offer(), '1');
  }

  answer(offer: string): string | undefined {
    this.#audio.wanted = this.wanted;
    const key = keyIn(offer);
    const answer = key && this.#audio.answer(plain(offer));
    if (!answer) return undefined;
    this.#socket.secureWith(key.inline);
    return this.#secured(answer, key.tag);
  }

  accept(answer: string): boolean {
    const key = keyIn(answer);
    if (!key) return false;
    this.#socket.secureWith(key.inline);
    return this.#audio.accept(plain(answer));
  }

  #secured(sdp: string, tag: string): string {
    const key = `a=crypto:${tag} AES_CM_128_HMAC_SHA1_80 inline:${this.#socket.inline}\r\n`;
    return `${sdp.replace('RTP/AVP', 'RTP/SAVP')}${key}`;
  }
}

function keyIn(sdp: string): { tag: string; inline: string } | undefined {
  const [, tag, inline] = /^a=crypto:(\d+) AES_CM_128_HMAC_SHA1_80 inline:([^\s|]{40})/m.exec(sdp) ?? [];
  return sdp.includes('RTP/SAVP ') && tag && inline ? { tag, inline } : undefined;
}

/** The audio of a desk phone that insists on SRTP with keys in the description. */
export const srtpAudio: OpenAudio = async (options, _offer) => {
  const socket = await SrtpSocket.open(options.host);
  const rtp = new RtpEndpoint(socket);
  return { rtp, audio: new SrtpMedia(socket, new CallAudio(rtp, options)) };
};

import { EventEmitter } from 'node:events';
import { MediaStreamTrack, RtpPacket } from 'werift';
import { CallAudio, type DirectedMedia } from '../../scripts/phone/call-audio.ts';
import type { OpenAudio } from '../../scripts/phone/phone.ts';
import { type DatagramSocket, RtpEndpoint } from '../../scripts/phone/rtp-endpoint.ts';
import { type Direction, mirrored, parseSdp } from '../../scripts/phone/sdp.ts';
import { browserConnection } from './browser-peer.ts';

const PROTOCOL = 'UDP/TLS/RTP/SAVPF';
const plain = (sdp: string): string => sdp.replace(PROTOCOL, 'RTP/AVP');

/** Carries packets as a browser does: ICE, DTLS and SRTP by a library that shares no code with the engine. */
class BrowserSocket extends EventEmitter<{ message: [Buffer]; error: [Error] }> implements DatagramSocket {
  readonly connection = browserConnection();
  readonly #track = new MediaStreamTrack({ kind: 'audio' });

  constructor() {
    super();
    this.connection.addTransceiver(this.#track, { direction: 'sendrecv' });
    this.connection.onTrack.subscribe(track =>
      track.onReceiveRtp.subscribe(packet => this.emit('message', packet.serialize())),
    );
  }

  address(): { port: number } {
    return { port: 9 }; // nobody sends there: the addresses are those of ICE
  }

  send(packet: Buffer): void {
    if (this.connection.connectionState === 'connected') this.#track.writeRtp(RtpPacket.deSerialize(packet));
  }

  close(done: () => void): void {
    void this.connection.close().then(done);
  }
}

/** A browser's offers and answers. Its own description stays through holds, but for direction and version. */
class BrowserMedia implements DirectedMedia {
  wanted: Direction = 'sendrecv';
  readonly #socket: BrowserSocket;
  readonly #audio: CallAudio;
  #local = '';
  #version = 0;

  constructor(socket: BrowserSocket, audio: CallAudio) {
    this.#socket = socket;
    this.#audio = audio;
  }

  /** Describes itself ahead of time, because a browser takes its time for that. */
  async prepare(offer: string | undefined): Promise<void> {
    const { connection } = this.#socket;
    if (offer !== undefined && !this.takes(offer)) return;
    if (offer !== undefined) await connection.setRemoteDescription({ type: 'offer', sdp: offer });
    const own = offer === undefined ? connection.createOffer() : connection.createAnswer();
    await connection.setLocalDescription(await own);
    this.#local = connection.localDescription?.sdp ?? '';
  }

  takes(offer: string): boolean {
    return offer.includes(PROTOCOL) && offer.includes('a=fingerprint:') && this.#audio.takes(plain(offer));
  }

  offer(): string {
    return this.#describe(this.wanted);
  }

  answer(offer: string): string | undefined {
    this.#audio.wanted = this.wanted;
    if (!this.takes(offer) || this.#audio.answer(plain(offer)) === undefined) return undefined;
    return this.#describe(mirrored(parseSdp(plain(offer))?.direction ?? 'sendrecv', this.wanted));
  }

  accept(answer: string): boolean {
    this.#audio.wanted = this.wanted;
    const { connection } = this.#socket;
    // A failure shows as a call in which nothing is heard.
    if (connection.signalingState === 'have-local-offer')
      void connection.setRemoteDescription({ type: 'answer', sdp: answer }).catch(() => undefined);
    return answer.includes(PROTOCOL) && this.#audio.accept(plain(answer));
  }

  #describe(direction: Direction): string {
    this.#version += 1;
    return this.#local
      .replace(/^(o=\S+ \S+) \d+/m, `$1 ${this.#version}`)
      .replace(/^a=(sendrecv|sendonly|recvonly|inactive)\r$/m, `a=${direction}\r`);
  }
}

/** The audio of a browser's phone: DTLS-SRTP and nothing else. */
export const browserAudio: OpenAudio = async (options, offer) => {
  const socket = new BrowserSocket();
  const rtp = new RtpEndpoint(socket);
  const audio = new BrowserMedia(socket, new CallAudio(rtp, { ...options, codecs: ['PCMU'], events: false }));
  await audio.prepare(offer);
  return { rtp, audio };
};

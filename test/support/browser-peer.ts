import { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket } from 'werift';
import { decodeG711, encodeG711 } from '../../scripts/phone/g711.ts';
import { Hearing } from '../../scripts/phone/hearing.ts';
import { everyTwentyMs } from '../../scripts/phone/pace.ts';
import { FRAME_SAMPLES, tone } from '../../scripts/phone/sound.ts';
import { Ear } from './ear.ts';

/** What a page opens for a call: PCMU on this machine. */
export const browserConnection = (): RTCPeerConnection =>
  new RTCPeerConnection({
    iceServers: [],
    iceAdditionalHostAddresses: ['127.0.0.1'],
    codecs: {
      audio: [new RTCRtpCodecParameters({ mimeType: 'audio/PCMU', clockRate: 8000, channels: 1, payloadType: 0 })],
    },
  });

/** The media of a browser phone: ICE, DTLS and SRTP by a library, PCMU, a tone said and an ear. */
export class BrowserPeer {
  readonly ear: Ear;
  readonly #connection = browserConnection();
  readonly #track = new MediaStreamTrack({ kind: 'audio' });
  readonly #silence: () => void;
  #restarts = false;

  /** @param hz the tone that it says */
  constructor(hz: number, name = 'the browser') {
    const hearing = new Hearing();
    this.ear = new Ear(hearing, name);
    this.#connection.addTransceiver(this.#track, { direction: 'sendrecv' });
    this.#connection.onTrack.subscribe(track =>
      track.onReceiveRtp.subscribe(({ header, payload }) => {
        if (header.payloadType === 0)
          hearing.add(decodeG711('PCMU', payload), header.ssrc, header.timestamp, performance.now());
      }),
    );
    this.#silence = this.#say(hz);
  }

  /** Its offer, with all its addresses; with `iceRestart` it looks for a path anew. */
  async offer(options: { iceRestart?: boolean } = {}): Promise<string> {
    this.#restarts = options.iceRestart ?? false;
    await this.#connection.setLocalDescription(await this.#connection.createOffer(options));
    return this.#connection.localDescription?.sdp ?? '';
  }

  /** Takes the answer to its offer. */
  async take(answer: string): Promise<void> {
    await this.#connection.setRemoteDescription({ type: 'answer', sdp: answer });
    // The library begins its checks by itself the first time only.
    if (this.#restarts) await Promise.all(this.#connection.iceTransports.map(one => one.start()));
  }

  /** Answers an offer. */
  async answer(offer: string): Promise<string> {
    await this.#connection.setRemoteDescription({ type: 'offer', sdp: offer });
    await this.#connection.setLocalDescription(await this.#connection.createAnswer());
    return this.#connection.localDescription?.sdp ?? '';
  }

  async close(): Promise<void> {
    this.#silence();
    await this.#connection.close();
  }

  #say(hz: number): () => void {
    const sound = tone(hz);
    const frame = new Int16Array(FRAME_SAMPLES);
    let sequence = 1;
    return everyTwentyMs(() => {
      sound.fill(frame);
      const header = new RtpHeader({
        payloadType: 0,
        sequenceNumber: sequence & 0xffff,
        timestamp: sequence * 160,
        ssrc: 1,
      });
      sequence += 1;
      if (this.#connection.connectionState === 'connected')
        this.#track.writeRtp(new RtpPacket(header, Buffer.from(encodeG711('PCMU', frame))));
    });
  }
}

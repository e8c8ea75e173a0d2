import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { decodeG711, encodeG711 } from './g711.ts';
import type { Law } from './g711.ts';
import { Hearing } from './hearing.ts';
import { everyTwentyMs } from './pace.ts';
import { formatEvent, formatRtp, parseEvent, parseRtp } from './rtp-packet.ts';
import type { RtpPacket } from './rtp-packet.ts';
import type { Remote } from './sip-address.ts';
import { DIGITS, FRAME_SAMPLES, SILENCE, digitTone } from './sound.ts';
import type { Sound } from './sound.ts';

/** What carries the packets: a UDP socket, or what protects them on their way. */
export interface DatagramSocket {
  address(): { port: number };
  on(event: 'message', take: (packet: Buffer) => void): unknown;
  on(event: 'error', take: (error: Error) => void): unknown;
  removeAllListeners(event: 'message'): unknown;
  send(packet: Buffer, port: number, host: string, done: () => void): void;
  close(done: () => void): unknown;
}

/** What was negotiated for one stream. */
export interface RtpSession {
  remote: Remote;
  law: Law;
  payloadType: number;
  eventPayloadType: number | undefined;
  send: boolean;
}

export interface ReceivedDigit {
  digit: string;
  at: number;
  duration_ms: number;
}

interface EndpointEvents {
  digit: [ReceivedDigit];
  /** The sound given to `play` has come to its end. */
  played: [];
}

interface PressedKey {
  event: number;
  sound: Sound;
  frames: number;
  sent: number;
  gap: number;
  timestamp: number;
  done: () => void;
}

/** -50 dBFS: above any comfort noise, below any speech or tone. */
const AUDIBLE_PEAK = 100;
const END_REPEATS = 3;
const GAP_FRAMES = 4;

/** One end of a telephone's audio: sends a frame each 20 ms, hears what comes, sends and takes keys. */
export class RtpEndpoint extends EventEmitter<EndpointEvents> {
  readonly hearing = new Hearing();
  readonly digits: ReceivedDigit[] = [];
  readonly times: { firstPacket?: number; firstAudible?: number } = {};
  readonly counts = { sent: 0, received: 0, malformed: 0 };
  readonly port: number;
  muted = false;
  #socket: DatagramSocket;
  #session: RtpSession | undefined;
  #sound: Sound = SILENCE;
  #keys: PressedKey[] = [];
  #frame = new Int16Array(FRAME_SAMPLES);
  #sequence = randomInt(0x10000);
  #timestamp = randomInt(0x1_0000_0000 - 1);
  #ssrc = randomInt(0x1_0000_0000 - 1);
  #first = true;
  #lastEvent: number | undefined;
  #leave: (() => void) | undefined;
  #open = true;

  static async open(host: string, port = 0): Promise<RtpEndpoint> {
    const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4', recvBufferSize: 1 << 18 });
    socket.bind(port, host);
    await once(socket, 'listening');
    return new RtpEndpoint(socket);
  }

  constructor(socket: DatagramSocket) {
    super();
    this.setMaxListeners(0);
    this.#socket = socket;
    this.port = socket.address().port;
    socket.on('message', data => this.#receive(data, performance.now()));
    socket.on('error', () => this.#stopSending());
  }

  /** Starts, moves or holds the stream after an offer and its answer. */
  connect(session: RtpSession): void {
    this.#session = session;
    if (this.#open) this.#leave ??= everyTwentyMs(() => this.#beat());
  }

  /** Changes what the other side hears. */
  play(sound: Sound): void {
    this.#sound = sound;
  }

  /** Presses keys one after another as RFC 4733 events, or as tones where no event type was agreed. Resolves when the last is up, rejects once closed. */
  async press(digits: string, duration_ms = 160): Promise<void> {
    const frames = Math.max(2, Math.round(duration_ms / 20));
    for (const digit of digits.toUpperCase()) {
      const event = DIGITS.indexOf(digit);
      if (event < 0) throw new Error(`"${digit}" is no key of a telephone`);
      if (!this.#open) throw new Error('the call is over');
      await new Promise<void>(done => {
        this.#keys.push({ event, sound: digitTone(digit), frames, sent: 0, gap: GAP_FRAMES, timestamp: 0, done });
      });
    }
  }

  /** Sends nothing any more but keeps the port, so that the other side gets no ICMP error: as if the network were gone. */
  fallSilent(): void {
    this.#stopSending();
    this.#socket.removeAllListeners('message');
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#stopSending();
    for (const key of this.#keys.splice(0)) key.done();
    await new Promise<void>(resolve => this.#socket.close(resolve));
  }

  #stopSending(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  #beat(): void {
    const session = this.#session;
    if (!session) return;
    this.#timestamp = (this.#timestamp + FRAME_SAMPLES) >>> 0;
    const key = this.#keys[0];
    if (key && key.sent < key.frames + END_REPEATS) return this.#sendKey(session, key);
    if (key && (key.gap -= 1) <= 0) this.#release(key);
    this.#sendAudio(session, this.#sound);
  }

  #release(key: PressedKey): void {
    this.#keys.shift();
    key.done();
  }

  #sendAudio(session: RtpSession, sound: Sound): void {
    const more = sound.fill(this.#frame);
    if (!more && sound === this.#sound) {
      this.#sound = SILENCE;
      this.emit('played');
    }
    if (!session.send) return;
    if (this.muted) this.#frame.fill(0);
    this.#send(session, session.payloadType, this.#first, this.#timestamp, encodeG711(session.law, this.#frame));
    this.#first = false;
  }

  /** All packets of one event bear the timestamp of its start; the end is sent three times (RFC 4733 section 2.5.1). */
  #sendKey(session: RtpSession, key: PressedKey): void {
    if (session.eventPayloadType === undefined) {
      key.sent += key.sent >= key.frames - 1 ? END_REPEATS + 1 : 1;
      return this.#sendAudio(session, key.sound);
    }
    if (key.sent === 0) key.timestamp = this.#timestamp;
    const frames = Math.min(key.sent + 1, key.frames);
    const end = key.sent + 1 > key.frames;
    const payload = formatEvent({ event: key.event, end, duration: frames * FRAME_SAMPLES });
    this.#send(session, session.eventPayloadType, key.sent === 0, key.timestamp, payload);
    key.sent += 1;
  }

  #send(session: RtpSession, payloadType: number, marker: boolean, timestamp: number, payload: Buffer): void {
    this.#sequence = (this.#sequence + 1) & 0xffff;
    const packet = formatRtp({ payloadType, marker, sequence: this.#sequence, timestamp, ssrc: this.#ssrc, payload });
    this.counts.sent += 1;
    // A port that went away shows as an error of a later send; the call itself ends by SIP, so it is of no interest here.
    this.#socket.send(packet, session.remote.port, session.remote.host, () => undefined);
  }

  #receive(data: Buffer, at: number): void {
    const packet = parseRtp(data);
    if (!packet) {
      this.counts.malformed += 1;
      return;
    }
    this.counts.received += 1;
    this.times.firstPacket ??= at;
    if (packet.payloadType === this.#session?.eventPayloadType || packet.payloadType === 101) this.#hearKey(packet, at);
    else this.#hearAudio(packet, at);
  }

  #hearAudio(packet: RtpPacket, at: number): void {
    const law = packet.payloadType === 8 ? 'PCMA' : packet.payloadType === 0 ? 'PCMU' : this.#dynamicLaw(packet);
    if (!law) return;
    const samples = decodeG711(law, packet.payload);
    if (this.times.firstAudible === undefined && samples.some(s => Math.abs(s) > AUDIBLE_PEAK))
      this.times.firstAudible = at;
    this.hearing.add(samples, packet.ssrc, packet.timestamp, at);
  }

  #dynamicLaw(packet: RtpPacket): Law | undefined {
    return packet.payloadType === this.#session?.payloadType ? this.#session.law : undefined;
  }

  /** One key is one timestamp, however many packets tell of it. */
  #hearKey(packet: RtpPacket, at: number): void {
    const event = parseEvent(packet.payload);
    const digit = event && DIGITS[event.event];
    if (!event || digit === undefined) return;
    const duration_ms = event.duration / 8;
    const last = this.digits.at(-1);
    if (this.#lastEvent === packet.timestamp && last) {
      last.duration_ms = Math.max(last.duration_ms, duration_ms);
      return;
    }
    this.#lastEvent = packet.timestamp;
    const pressed = { digit, at, duration_ms };
    this.digits.push(pressed);
    this.emit('digit', pressed);
  }
}

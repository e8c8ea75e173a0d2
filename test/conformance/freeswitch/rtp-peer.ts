import type { Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { RtpHeader, SrtpSession } from 'werift';

const frameMs = 20;

/** What a telephone speaks: payload bytes of 20 ms to samples of its rate, and back. */
export interface PeerCodec {
  payloadType: number;
  /** As its rtpmap has it. */
  encoding: string;
  /** Ticks of its RTP clock in a second. */
  clock: number;
  rate: number;
  encode(samples: Int16Array): Buffer;
  decode(payload: Buffer): Int16Array;
}

/** µ-law of one 16-bit sample; written out here so that the test shares no codec with the engine. */
function muLaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(32635, Math.abs(sample)) + 132;
  let exponent = 7;
  for (let mask = 0x4000; (magnitude & mask) === 0 && exponent > 0; mask >>= 1) exponent -= 1;
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
}

function linear(byte: number): number {
  const value = ~byte & 0xff;
  const magnitude = ((((value & 0x0f) << 3) + 132) << ((value >> 4) & 7)) - 132;
  return value & 0x80 ? -magnitude : magnitude;
}

const pcmu: PeerCodec = {
  payloadType: 0,
  encoding: 'PCMU/8000',
  clock: 8000,
  rate: 8000,
  encode: samples => Buffer.from(Uint8Array.from(samples, muLaw)),
  decode: payload => Int16Array.from(payload, linear),
};

interface Heard {
  at: number;
  samples: Int16Array;
}

/** A telephone's RTP, PCMU or another codec: says tones, presses keys, and tells which tones it heard. */
export class RtpPeer {
  readonly heard: Heard[] = [];
  /** Telephone-events received, one per timestamp: the key's event code. */
  readonly events = new Map<number, number>();
  packets = 0;
  /** Frequency it says, 0 for silence, null for sending nothing. */
  saying: number | null = null;
  /** How loud: the peak of its sine. */
  peak = 8000;
  port = 0;
  remotePort = 0;
  /** Identifier of the stream it sends; another one is another stream. */
  ssrc = 0x1234;
  /** SRTP by a library that shares no code with the engine; null for plain RTP. */
  srtp: SrtpSession | null = null;
  readonly #material = randomBytes(30);
  #secure = false;
  readonly #host: string;
  readonly #codec: PeerCodec;
  readonly #socket: Socket;
  #timer: NodeJS.Timeout | null = null;
  #sequence = 1000;
  #timestamp = 5000;
  #phase = 0;
  #next = 0;

  private constructor(host: string, codec: PeerCodec) {
    this.#host = host;
    this.#codec = codec;
    this.#socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  }

  /** A telephone on an address of this machine, which it speaks to also. */
  static async open(host = '127.0.0.1', codec = pcmu): Promise<RtpPeer> {
    const peer = new RtpPeer(host, codec);
    peer.#socket.bind(0, host);
    await once(peer.#socket, 'listening');
    peer.port = peer.#socket.address().port;
    peer.#socket.on('message', packet => peer.#receive(packet));
    peer.#next = performance.now();
    peer.#timer = setInterval(() => peer.#tick(), 5);
    return peer;
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#socket.close();
  }

  /** The description this peer offers. */
  sdp(direction = 'sendrecv'): string {
    const network = `IN IP${this.#host.includes(':') ? 6 : 4} ${this.#host}`;
    return [
      'v=0',
      `o=peer 1 1 ${network}`,
      's=-',
      `c=${network}`,
      't=0 0',
      ...(this.#codec === pcmu
        ? [`m=audio ${this.port} RTP/AVP 0 8 101`, 'a=rtpmap:0 PCMU/8000', 'a=rtpmap:8 PCMA/8000']
        : [
            `m=audio ${this.port} RTP/AVP ${this.#codec.payloadType} 101`,
            `a=rtpmap:${this.#codec.payloadType} ${this.#codec.encoding}`,
          ]),
      `a=rtpmap:101 telephone-event/${this.#codec.clock}`,
      'a=fmtp:101 0-15',
      'a=ptime:20',
      `a=${direction}`,
      '',
    ].join('\r\n');
  }

  /** The same over RTP/SAVP with its key (RFC 4568). */
  secureSdp(tag = 1): string {
    this.#secure = true;
    const key = `a=crypto:${tag} AES_CM_128_HMAC_SHA1_80 inline:${this.#material.toString('base64')}|2^31`;
    return `${this.sdp().replace('RTP/AVP', 'RTP/SAVP')}${key}\r\n`;
  }

  /** Takes the key of a description that was answered with `secureSdp`, or answers it. */
  secureWith(sdp: string): void {
    const theirs = Buffer.from(/SHA1_80 inline:(\S{40})/.exec(sdp)?.[1] ?? '', 'base64');
    const [localMasterKey, localMasterSalt] = [this.#material.subarray(0, 16), this.#material.subarray(16)];
    const [remoteMasterKey, remoteMasterSalt] = [theirs.subarray(0, 16), theirs.subarray(16)];
    this.srtp = new SrtpSession({
      keys: { localMasterKey, localMasterSalt, remoteMasterKey, remoteMasterSalt },
      profile: 1,
    });
  }

  /** Sends to the audio port of a description. */
  listenTo(sdp: string): void {
    this.remotePort = Number(/^m=audio (\d+)/m.exec(sdp)?.[1] ?? 0);
  }

  /** Presses a key for so many ms, with three end packets (RFC 4733 section 2.5). */
  async press(key: string, ms = 100): Promise<void> {
    const event = '0123456789*#ABCD'.indexOf(key);
    const timestamp = this.#timestamp;
    const step = 8 * frameMs; // telephone-event counts at 8 kHz
    const growing = Array.from({ length: ms / frameMs }, (_, at): [number, number] => [0, (at + 1) * step]);
    const last = [1, 1, 1].map((end): [number, number] => [end, ms * 8]);
    for (const [end, duration] of [...growing, ...last]) {
      const payload = Buffer.from([event, (end ? 0x80 : 0) | 10, duration >> 8, duration & 0xff]);
      this.#send(101, timestamp, payload, duration === step);
      await new Promise(resolve => setTimeout(resolve, end ? 1 : frameMs));
    }
  }

  /**
   * Sends comfort noise of -40 dBov in place of audio for about this long (RFC 3389), a packet each 100 ms, the last one with a
   * spectrum; gives the milliseconds that its stream says nothing.
   */
  async rest(ms: number): Promise<number> {
    const { saying } = this;
    const from = this.#timestamp;
    this.saying = null;
    for (let left = ms; left > 0; left -= 100) {
      this.#send(13, this.#timestamp, Buffer.from(left > 100 ? [40] : [40, 120, 30, 7]), false);
      await new Promise(resolve => setTimeout(resolve, 100));
    }
    this.saying = saying;
    return (this.#timestamp - from) / 8;
  }

  /** Forgets what it heard. */
  forget(): void {
    this.heard.length = 0;
    this.packets = 0;
  }

  /** Resolves once this many ms of a tone have been heard, without a break; rejects after `withinMs`. */
  async hears(frequency: number, ms = 100, withinMs = 3000): Promise<void> {
    const until = performance.now() + withinMs;
    while (performance.now() < until) {
      if (this.tonesOf(ms).includes(frequency)) return;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    throw new Error(
      `no ${frequency} Hz within ${withinMs} ms, heard ${this.tonesOf(ms).join(', ') || 'silence'} at the end`,
    );
  }

  /** The tones among the test's frequencies in the last `ms` that it heard. */
  tonesOf(ms: number): number[] {
    return frequencies.filter(frequency => this.amplitude(frequency, ms) > 500);
  }

  /** How loud a tone was in the last `ms`: its peak, 0 before that much was heard. */
  amplitude(frequency: number, ms: number): number {
    const wanted = Math.ceil(ms / frameMs);
    const frames = this.heard.slice(-wanted);
    if (frames.length < wanted) return 0;
    const { rate } = this.#codec;
    const samples = (rate * frameMs) / 1000;
    const all = new Int16Array(wanted * samples);
    frames.forEach((frame, at) => all.set(frame.samples, at * samples));
    return level(all, frequency, rate);
  }

  /** The loudest sample heard so far, or in the last `ms`. */
  loudest(ms = Infinity): number {
    return this.heard
      .slice(-Math.min(this.heard.length, ms / frameMs))
      .reduce((most, frame) => frame.samples.reduce((one, sample) => Math.max(one, Math.abs(sample)), most), 0);
  }

  #tick(): void {
    while (performance.now() >= this.#next) {
      this.#next += frameMs;
      this.#timestamp += (this.#codec.clock * frameMs) / 1000;
      if (this.saying !== null && this.remotePort > 0)
        this.#send(this.#codec.payloadType, this.#timestamp, this.#frame(this.saying), false);
    }
  }

  #frame(frequency: number): Buffer {
    const { rate } = this.#codec;
    const samples = new Int16Array((rate * frameMs) / 1000);
    for (let at = 0; at < samples.length; at += 1) {
      this.#phase += (2 * Math.PI * frequency) / rate;
      samples[at] = frequency === 0 ? 0 : Math.round(this.peak * Math.sin(this.#phase));
    }
    return this.#codec.encode(samples);
  }

  #send(payloadType: number, timestamp: number, payload: Buffer, marker: boolean): void {
    const header = Buffer.alloc(12);
    header[0] = 0x80;
    header[1] = (marker ? 0x80 : 0) | payloadType;
    header.writeUInt16BE((this.#sequence += 1) & 0xffff, 2);
    header.writeUInt32BE(timestamp >>> 0, 4);
    header.writeUInt32BE(this.ssrc, 8);
    const packet = this.srtp?.encrypt(payload, RtpHeader.deSerialize(header)) ?? Buffer.concat([header, payload]);
    this.#socket.send(packet, this.remotePort, this.#host);
  }

  #receive(wire: Buffer): void {
    const control = (wire[1] ?? 0) >= 192 && (wire[1] ?? 0) <= 223;
    if (control) return;
    const packet = this.srtp?.decrypt(wire) ?? wire; // throws on what is not authentic, and fails the test
    const type = (packet[1] ?? 0) & 0x7f;
    this.packets += 1;
    if (this.#secure && !this.srtp) return; // it has not the other's key yet
    if (type === 101) this.events.set(packet.readUInt32BE(4), packet[12] ?? -1);
    if (type === this.#codec.payloadType)
      this.heard.push({ at: performance.now(), samples: this.#codec.decode(packet.subarray(12)) });
    if (this.heard.length > 3000) this.heard.splice(0, 1000);
  }
}

/** Tones the tests use; far enough apart to be told from each other in 40 ms. */
export const frequencies = [350, 440, 600, 700, 850, 1000, 1200, 1500];

/** Amplitude of one frequency (Goertzel). */
function level(audio: Int16Array, frequency: number, rate: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * frequency) / rate);
  let before = 0;
  let last = 0;
  for (const sample of audio) [before, last] = [last, sample + coefficient * last - before];
  const power = before * before + last * last - coefficient * before * last;
  return (2 * Math.sqrt(Math.max(0, power))) / audio.length;
}

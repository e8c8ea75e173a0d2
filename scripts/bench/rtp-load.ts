import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeG711 } from '../phone/g711.ts';
import { Punctuality } from './punctuality.ts';

const HEADER = 12;
const SAMPLES = 160;
const FRAME_MS = 20;
/** Phones do not speak in step: they are dealt out over so many parts of the 20 ms. */
const PARTS = 10;

/** A frame's number in four bytes of µ-law that come through decoding and encoding as they are. */
const BASE = 100;
const numberOf = (packet: Buffer, at = HEADER): number =>
  [0, 1, 2, 3].reduce((sum, place) => sum * BASE + (packet[at + place] ?? 0), 0);

/** The number of a frame that has been decoded, NaN where there is none in it. */
export const numberIn = (samples: Int16Array): number => {
  const bytes = encodeG711('PCMU', samples.subarray(0, 4));
  return bytes.every(byte => byte < BASE) ? numberOf(bytes, 0) : NaN;
};
const writeNumber = (packet: Buffer, number: number): void => {
  for (let at = 3, rest = number; at >= 0; at--, rest = Math.floor(rest / BASE)) packet[HEADER + at] = rest % BASE;
};

const MURMUR = encodeG711(
  'PCMU',
  Int16Array.from({ length: SAMPLES }, (_, at) => 3000 * Math.sin(at / 3) + 2000 * Math.sin(at / 1.7)),
);

/** What one phone has heard. */
export interface Heard {
  packets: number;
  /** Numbers that are missing or came twice in what the other side said. */
  lost: number;
  doubled: number;
}

/** A phone that sends numbered frames, or a sound of its own, as cheaply as Node can. */
export class LoadPhone {
  readonly heard: Heard = { packets: 0, lost: 0, doubled: 0 };
  readonly punctuality = new Punctuality();
  /** Called with what was heard, µ-law. */
  onAudio: ((payload: Buffer) => void) | null = null;
  sent = 0;
  readonly #socket: Socket;
  readonly #packet = Buffer.alloc(HEADER + SAMPLES);
  #last: number | undefined;
  #to = 0;
  #numbered = true;

  private constructor(socket: Socket, id: number) {
    this.#socket = socket;
    this.#packet[0] = 0x80;
    this.#packet.writeUInt32BE(id + 1, 8);
    MURMUR.copy(this.#packet, HEADER);
    socket.on('message', packet => this.#hear(packet, performance.now()));
  }

  static async open(id: number): Promise<LoadPhone> {
    const lookup = (host: string, _options: unknown, done: (e: null, a: string, f: number) => void): void =>
      done(null, host, 4);
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 18, lookup });
    const listening = once(socket, 'listening'); // with a synchronous look-up it is emitted inside bind()
    socket.bind(0, '127.0.0.1');
    await listening;
    return new LoadPhone(socket, id);
  }

  get sdp(): string {
    const { port } = this.#socket.address();
    return `v=0\r\no=load 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\na=ptime:20\r\n`;
  }

  /** Where to send, by the other side's description or port. */
  talkTo(to: string | number): void {
    this.#to = typeof to === 'number' ? to : Number(/^m=audio (\d+)/m.exec(to)?.[1] ?? 0);
  }

  /** Says 20 ms of 8 kHz again and again in place of numbers. */
  say(frame: Int16Array): void {
    this.#numbered = false;
    encodeG711('PCMU', frame).copy(this.#packet, HEADER);
  }

  send(): void {
    if (this.#to === 0) return;
    const packet = this.#packet;
    packet.writeUInt16BE(this.sent & 0xffff, 2);
    packet.writeUInt32BE((this.sent * SAMPLES) >>> 0, 4);
    if (this.#numbered) writeNumber(packet, this.sent);
    this.sent += 1;
    this.#socket.send(packet, 0, packet.length, this.#to, '127.0.0.1');
  }

  /** Counts what is heard anew. */
  restart(): void {
    Object.assign(this.heard, { packets: 0, lost: 0, doubled: 0 });
    this.punctuality.restart();
  }

  close(): void {
    this.#socket.close();
  }

  #hear(packet: Buffer, at: number): void {
    if (packet.length !== HEADER + SAMPLES) return;
    this.heard.packets += 1;
    this.punctuality.came(at, packet.readUInt32BE(4));
    this.onAudio?.(packet.subarray(HEADER));
    if (this.onAudio) return;
    const number = numberOf(packet);
    const step = this.#last === undefined ? 1 : number - this.#last;
    if (step > 1 && step < BASE ** 2) this.heard.lost += step - 1;
    if (step <= 0 && step > -BASE) this.heard.doubled += 1;
    else this.#last = number;
  }
}

/** The beat of all phones. `late`: the worst delay of it, which is the load generator's own. */
export class Load {
  late = 0;
  #timer: NodeJS.Timeout;
  #due = performance.now();
  #part = 0;

  constructor(phones: readonly LoadPhone[]) {
    this.#timer = setInterval(() => this.#tick(phones), 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(phones: readonly LoadPhone[]): void {
    for (const now = performance.now(); this.#due <= now; this.#due += FRAME_MS / PARTS) {
      this.late = Math.max(this.late, now - this.#due);
      for (let at = this.#part; at < phones.length; at += PARTS) phones[at]?.send();
      this.#part = (this.#part + 1) % PARTS;
    }
  }
}

/** Calls `work` for each, so many at a time. */
export const inTurns = async <T, R>(list: readonly T[], atOnce: number, work: (one: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (let at = 0; at < list.length; at += atOnce)
    results.push(...(await Promise.all(list.slice(at, at + atOnce).map(work))));
  return results;
};

/** Lets it run. */
export const seconds = (count: number): Promise<void> => pause(count * 1000);

import { timestampDistance } from './rtp.ts';

/** The keys by event code (RFC 4733 §3.2). */
const keys = '0123456789*#ABCD';
const lostEndTicks = 10;
const forgetTicks = 50;
const longest = 0xffff;
/** Keys that are told: 25 a second, twice as many as the fastest dialler presses (40 ms and 40 ms), and so many at once. */
const pace = { ticks: 2, atOnce: 50 };

/** A key that was pressed and let go; duration in ticks of the stream's clock, 8 kHz behind the receiver. */
export interface Digit {
  digit: string;
  duration_samples: number;
  /** Heard as tones in the audio. */
  inband?: boolean;
}

interface Press {
  event: number;
  timestamp: number;
  duration: number;
  /** Samples of earlier segments of a very long press. */
  before: number;
  lastTick: number;
}

/**
 * Gives one digit per key press, at its end, however its packets are repeated, reordered or lost (RFC 4733 §2.5). A
 * press whose end never comes ends after 200 ms without a packet. Whoever presses faster than anything can dial is not heard.
 */
export class DigitReceiver {
  readonly #onDigit: (digit: Digit) => void;
  #press: Press | null = null;
  #lastTimestamp: number | null = null;
  #lastTick = 0;
  #allowed = pace.atOnce;

  constructor(onDigit: (digit: Digit) => void) {
    this.#onDigit = onDigit;
  }

  /** Takes the payload at `[start, end)` of a packet. `tick` is the clock's. False when it is no event payload. */
  packet(bytes: Buffer, start: number, end: number, timestamp: number, tick: number): boolean {
    if (end - start < 4) return false;
    const event = bytes.readUInt8(start);
    if (event >= keys.length) return true; // flash and line tones are no keys
    const ended = (bytes.readUInt8(start + 1) & 0x80) !== 0;
    this.#update(event, timestamp, bytes.readUInt16BE(start + 2), tick);
    this.#lastTick = tick;
    if (ended && this.#press?.timestamp === timestamp) this.#finish();
    return true;
  }

  /** To be called at every tick, to notice a press whose end was lost. */
  tick(now: number): void {
    if (now % pace.ticks === 0) this.#allowed = Math.min(pace.atOnce, this.#allowed + 1);
    if (this.#press && now - this.#press.lastTick >= lostEndTicks) this.#finish();
  }

  /** Another stream has begun: timestamps of the old one say nothing any more. */
  restart(): void {
    if (this.#press) this.#finish();
    this.#lastTimestamp = null;
  }

  #update(event: number, timestamp: number, duration: number, tick: number): void {
    const press = this.#press;
    if (press?.timestamp === timestamp) {
      press.duration = Math.max(press.duration, duration);
      press.lastTick = tick;
    } else if (press && continues(press, event, timestamp)) {
      this.#press = { event, timestamp, duration, before: press.before + press.duration, lastTick: tick };
      this.#lastTimestamp = timestamp;
    } else if (this.#isNew(timestamp, tick)) {
      if (press) this.#finish();
      this.#press = { event, timestamp, duration, before: 0, lastTick: tick };
      this.#lastTimestamp = timestamp;
    }
  }

  /** False for a repetition of a finished press or a straggler of an older one; after a second it is none of these. */
  #isNew(timestamp: number, tick: number): boolean {
    if (this.#lastTimestamp === null || timestampDistance(timestamp, this.#lastTimestamp) > 0) return true;
    return timestamp !== this.#lastTimestamp && tick - this.#lastTick > forgetTicks;
  }

  #finish(): void {
    const press = this.#press;
    this.#press = null;
    if (press && this.#allowed > 0) {
      this.#allowed -= 1;
      this.#onDigit({ digit: keys.charAt(press.event), duration_samples: press.before + press.duration });
    }
  }
}

/** The next segment of a press longer than the duration field can say (RFC 4733 §2.5.1.3). */
function continues(press: Press, event: number, timestamp: number): boolean {
  return (
    press.event === event &&
    press.duration >= longest - 800 &&
    timestampDistance(timestamp, press.timestamp) === press.duration
  );
}

/** One key in the queue of a sender; `event` is null for a pause. */
interface Outgoing {
  event: number | null;
  ticks: number;
  gapTicks: number;
}

/** What the sender wants on the wire in this tick; the same object every time. */
export interface EventPacket {
  event: number;
  marker: boolean;
  end: boolean;
  /** Samples at 8 kHz since the start of the press. */
  duration: number;
  /** True for the first packet of a press: its media time becomes the timestamp of all. */
  first: boolean;
}

const endPackets = 3;
const maxQueue = 512;

/** Turns digits into event packets, one per tick: the press, its end three times, and a gap (RFC 4733 §2.5.1.4). */
export class DigitSender {
  readonly #queue: Outgoing[] = [];
  readonly #packet: EventPacket = { event: 0, marker: false, end: false, duration: 0, first: false };
  #tick = 0;
  /** Digits and pauses taken so far, and those done with. */
  pushed = 0;
  finished = 0;

  /** True while there is something to send or a gap to keep. */
  get busy(): boolean {
    return this.#queue.length > 0;
  }

  /**
   * Queues digits: `0-9 * # A-D`, `w` waits half a second, `W` a second; anything else is left out. Times in ms. Beyond
   * 512 waiting digits the rest is dropped.
   */
  push(digits: string, durationMs: number, gapMs: number): void {
    const ticks = toTicks(durationMs, 2, 400);
    const gapTicks = toTicks(gapMs, 2, 400);
    for (const digit of digits.slice(0, maxQueue)) {
      if (this.#queue.length >= maxQueue) break;
      const event = keys.indexOf(digit.toUpperCase());
      if (digit === 'w' || digit === 'W')
        this.#queue.push({ event: null, ticks: digit === 'w' ? 25 : 50, gapTicks: 0 });
      else if (event >= 0) this.#queue.push({ event, ticks, gapTicks });
      else continue;
      this.pushed += 1;
    }
  }

  /** Drops everything that waits. */
  clear(): void {
    this.finished = this.pushed;
    this.#queue.length = 0;
    this.#tick = 0;
  }

  /** What to send in this tick; null for no event packet (nothing to do, a gap or a pause). */
  next(): EventPacket | null {
    const current = this.#queue[0];
    if (!current) return null;
    const tick = this.#tick++;
    const sending = current.event === null ? 0 : current.ticks + endPackets - 1;
    if (tick + 1 >= Math.max(sending, current.ticks) + current.gapTicks) {
      this.#queue.shift();
      this.finished += 1;
      this.#tick = 0;
    }
    return current.event === null || tick >= sending ? null : this.#describe(current.event, tick, current.ticks);
  }

  #describe(event: number, tick: number, ticks: number): EventPacket {
    this.#packet.event = event;
    this.#packet.first = this.#packet.marker = tick === 0;
    this.#packet.end = tick >= ticks - 1;
    this.#packet.duration = Math.min(tick + 1, ticks) * 160;
    return this.#packet;
  }
}

function toTicks(ms: number, least: number, most: number): number {
  const ticks = Math.round(ms / 20);
  return Number.isFinite(ticks) ? Math.min(most, Math.max(least, ticks)) : least;
}

/** Writes the four payload bytes of an event at `at` (RFC 4733 §2.3); volume -10 dBm0. `ratio`: the clock in units of 8 kHz. */
export function writeEvent(bytes: Buffer, at: number, packet: EventPacket, ratio = 1): void {
  bytes.writeUInt8(packet.event, at);
  bytes.writeUInt8((packet.end ? 0x80 : 0) | 10, at + 1);
  bytes.writeUInt16BE(Math.min(packet.duration * ratio, longest), at + 2);
}

/** The two frequencies of a key in Hz (ITU-T Q.23), or null for what is no key. */
export function digitFrequencies(digit: string): [number, number] | null {
  const at = '123A456B789C*0#D'.indexOf(digit.toUpperCase());
  const low = [697, 770, 852, 941][at >> 2];
  const high = [1209, 1336, 1477, 1633][at & 3];
  return digit.length !== 1 || low === undefined || high === undefined ? null : [low, high];
}

/** The key of an event code that the sender uses. */
export function keyOf(event: number): string {
  return keys.charAt(event);
}

import { framesPerSecond, sampleRate, tickMs } from './clock.ts';
import { Concealment } from './concealment.ts';
import { LegMemory } from './leg-memory.ts';
import { sequenceDistance, timestampDistance } from './rtp.ts';

/** In frames. */
const minDepth = 1;
const maxDepth = 10;
const margin = 0.5;
/** Packets without need after which the buffer becomes shorter, and what that grows to on a restless network. */
const calmPackets = { least: 150, most: 3000 };
/**
 * What no packet of a second needed beyond 40 ms is taken back without waiting for a calm stretch: a rare hiccup that is
 * covered costs less than a delay that lasts.
 */
const soon = { packets: 50, aheadFrames: 2 };
/** A late packet within so many of the last one belongs to the same hiccup. */
const hiccupPackets = 50;
const fadeFrames = 3;
const tailFrames = 3;
/** A buffer that is too deep by more than this is shortened in the middle of a sound after so many frames, else in a silence only. */
const patience = { excessFrames: 2, frames: 50 };

/** What has come in and what became of it. */
export interface JitterStats {
  received: number;
  late: number;
  duplicate: number;
  /** Frames of 20 ms that had to be made up, and all frames read since the first packet. */
  concealed: number;
  played: number;
  resets: number;
  /** Sequence numbers that never came (RFC 3550 §A.3). */
  lost: number;
  depth_ms: number;
}

/**
 * Puts received audio in order and hands it out at the pace of the clock. Samples live in a ring addressed by RTP
 * timestamp, so that order, repetition and packet length do not matter. Its depth follows the network between 20 and
 * 200 ms: a late packet deepens it by as much as it is late, a calm stretch without need shortens it. The stretch is three seconds, four
 * times as long after each hiccup, up to a minute, and half as long again after each calm one; what is beyond 60 ms is taken
 * back after one second. What is missing is concealed for 60 ms.
 */
export class JitterBuffer {
  readonly #memory: LegMemory;
  #samples: Int16Array;
  #valid: Uint8Array;
  #mask: number;
  /** Samples of a frame. */
  #frame: number;
  #concealment: Concealment;
  /** Whether a frame of this stream was heard: what is made up before it is of the last one. */
  #heard = false;
  #started = false;
  #ssrc = 0;
  #playout = 0;
  #newest = 0;
  #lastSequence = 0;
  #firstSequence = 0;
  #cycles = 0;
  #arrivals = 0;
  #suspect: { sequence: number; timestamp: number } | null = null;
  #muteFrom = 0;
  #muteSamples = 0;
  /** Where the party said that it falls silent; null once it speaks again. */
  #restsFrom: number | null = null;
  #windowMin = Infinity;
  #windowCount = 0;
  #soonMin = Infinity;
  #soonCount = 0;
  #calm = calmPackets.least;
  #lateAt = 0;
  #excess = 0;
  #waited = 0;
  #concealed = 0;
  #played = 0;
  #received = 0;
  #late = 0;
  #duplicate = 0;
  #resets = 0;

  constructor(memory = new LegMemory(), rate = sampleRate) {
    this.#memory = memory;
    const { samples, valid } = memory.ring(rate);
    this.#samples = samples;
    this.#valid = valid;
    this.#mask = samples.length - 1;
    this.#frame = rate / framesPerSecond;
    this.#concealment = new Concealment(rate);
  }

  /** Samples per second that it takes and gives, with timestamps that count them. */
  get rate(): number {
    return this.#frame * framesPerSecond;
  }

  /** Another rate, for which the stream begins anew; what was counted stays. */
  set rate(rate: number) {
    if (rate === this.rate) return;
    const { samples, valid } = this.#memory.ring(rate);
    this.#samples = samples;
    this.#valid = valid;
    this.#mask = samples.length - 1;
    this.#frame = rate / framesPerSecond;
    this.#concealment = new Concealment(rate);
    this.#started = false;
  }

  /**
   * Takes the samples of one packet (at most 200 ms). False when they came too late, twice, or do not fit the
   * stream; two packets in a row that agree with each other start the stream anew.
   */
  push(sequence: number, timestamp: number, ssrc: number, samples: Int16Array, count: number): boolean {
    this.#received += 1;
    if (!this.#started || ssrc !== this.#ssrc) this.#reset(sequence, timestamp, ssrc);
    else if (this.#jumped(timestamp) && !this.#follow(sequence, timestamp)) return false;
    this.#count(sequence);
    if (this.#restsFrom !== null && timestampDistance(timestamp, this.#restsFrom) > 0) this.#restsFrom = null;
    const ahead = timestampDistance(timestamp, this.#playout);
    this.#observe(ahead);
    return this.#store(timestamp, samples, count);
  }

  /** Counts a packet of the stream that carries no audio, so that it is not taken for a lost one. */
  note(sequence: number): void {
    if (this.#started) this.#count(sequence);
  }

  /**
   * Silences a stretch of the stream: a key was pressed then, and its tone must not be heard as noise. Timestamp and
   * length are those of the telephone event.
   */
  silence(timestamp: number, samples: number): void {
    if (!this.#started) return;
    const from = timestampDistance(timestamp, this.#playout);
    const ring = this.#samples.length;
    if (from > ring / 2 || from < -ring) return;
    this.#muteFrom = timestamp;
    this.#muteSamples = samples + tailFrames * this.#frame; // its end is sent three times
    const until = Math.min(from + this.#muteSamples, ring - this.#frame);
    for (let i = Math.max(0, from); i < until; i++) {
      this.#samples[(this.#playout + i) & this.#mask] = 0;
      this.#valid[(this.#playout + i) & this.#mask] = 1;
    }
    if (until > timestampDistance(this.#newest, this.#playout)) this.#newest = (this.#playout + until) >>> 0;
  }

  /** The party is silent from this time on and sends nothing until it speaks again (RFC 3389): nothing is lost or made up. */
  rest(timestamp: number): void {
    if (this.#started) this.#restsFrom = timestamp;
  }

  /** Writes the next 20 ms into `frame`. False when it is silence because nothing has come for a while. */
  read(frame: Int16Array): boolean {
    if (!this.#started) {
      frame.fill(0);
      return false;
    }
    this.#adapt();
    const found = this.#take(frame);
    this.#playout = (this.#playout + this.#frame) >>> 0;
    if (timestampDistance(this.#newest, this.#playout) < 0) this.#newest = this.#playout;
    this.#played += 1;
    if (found === this.#frame || this.#restsFrom !== null) this.#hear(frame);
    else if (found === 0) return this.#conceal(frame);
    return true;
  }

  /** How many packets of the stream should have come, how many did not, and the highest number with its cycles. */
  sequences(): { expected: number; lost: number; highest: number } {
    const highest = this.#cycles + this.#lastSequence;
    const expected = this.#started ? highest - this.#firstSequence + 1 : 0;
    return { expected, lost: Math.max(0, expected - this.#arrivals), highest };
  }

  /** What has happened so far. */
  stats(): JitterStats {
    return {
      received: this.#received,
      late: this.#late,
      duplicate: this.#duplicate,
      concealed: this.#concealed,
      played: this.#played,
      resets: this.#resets,
      lost: this.sequences().lost,
      depth_ms: this.#started
        ? (Math.max(0, timestampDistance(this.#newest, this.#playout)) * tickMs) / this.#frame
        : 0,
    };
  }

  #reset(sequence: number, timestamp: number, ssrc: number): void {
    if (this.#started) this.#resets += 1;
    this.#started = true;
    this.#ssrc = ssrc;
    this.#valid.fill(0);
    this.#playout = (timestamp - minDepth * this.#frame) >>> 0;
    this.#newest = this.#playout;
    this.#lastSequence = this.#firstSequence = sequence;
    this.#cycles = 0;
    this.#arrivals = 0;
    this.#suspect = null;
    this.#muteSamples = 0;
    this.#restsFrom = null;
    this.#heard = false;
    this.#calm = calmPackets.least;
    this.#excess = 0;
    this.#restartWindow();
  }

  /** Counts the arrivals of the stream, for the loss rate. */
  #count(sequence: number): void {
    this.#arrivals += 1;
    if (sequenceDistance(sequence, this.#lastSequence) <= 0) return;
    if (sequence < this.#lastSequence) this.#cycles += 0x10000;
    this.#lastSequence = sequence;
  }

  /** True when a timestamp lies where no packet of this stream can: over 200 ms late, or more than half a second early. */
  #jumped(timestamp: number): boolean {
    const ahead = timestampDistance(timestamp, this.#playout);
    return ahead < -maxDepth * this.#frame || ahead > this.#samples.length / 2;
  }

  /** After a jump: goes along when this packet follows the last one, or a first one that jumped the same way. */
  #follow(sequence: number, timestamp: number): boolean {
    const before = this.#suspect;
    const agrees = before !== null && Math.abs(timestampDistance(timestamp, before.timestamp)) < this.rate;
    const follows = before !== null && sequenceDistance(sequence, before.sequence) === 1;
    if ((agrees && follows) || sequenceDistance(sequence, this.#lastSequence) === 1) {
      this.#reset(sequence, timestamp, this.#ssrc);
      return true;
    }
    this.#suspect = { sequence, timestamp };
    this.#late += 1;
    return false;
  }

  #store(timestamp: number, samples: Int16Array, count: number): boolean {
    const ahead = timestampDistance(timestamp, this.#playout);
    if (ahead + count <= 0) {
      this.#late += 1;
      return false;
    }
    if (ahead >= 0 && this.#valid[timestamp & this.#mask] === 1 && !this.#muted(timestamp)) {
      this.#duplicate += 1;
      return false;
    }
    for (let i = Math.max(0, -ahead); i < count; i++) {
      const at = (timestamp + i) & this.#mask;
      this.#samples[at] = this.#muted(timestamp + i) ? 0 : (samples[i] ?? 0);
      this.#valid[at] = 1;
    }
    const end = (timestamp + count) >>> 0;
    if (timestampDistance(end, this.#newest) > 0) this.#newest = end;
    return true;
  }

  #muted(timestamp: number): boolean {
    if (this.#muteSamples === 0) return false;
    const into = timestampDistance(timestamp >>> 0, this.#muteFrom);
    return into >= 0 && into < this.#muteSamples;
  }

  /** Learns from how early a packet came. A late one deepens the buffer at once. */
  #observe(ahead: number): void {
    if (ahead < 0) {
      const room = maxDepth * this.#frame - timestampDistance(this.#newest, this.#playout);
      const back = Math.min(Math.ceil(-ahead / this.#frame) * this.#frame, room);
      if (back > 0) this.#playout = (this.#playout - back) >>> 0;
      if (this.#received - this.#lateAt > hiccupPackets) this.#calm = Math.min(calmPackets.most, this.#calm * 4);
      this.#lateAt = this.#received;
      this.#excess = 0;
      this.#restartWindow();
      return;
    }
    this.#observeSoon(ahead);
    if (ahead < this.#windowMin) this.#windowMin = ahead;
    if (++this.#windowCount < this.#calm) return;
    this.#calm = Math.max(calmPackets.least, this.#calm / 2);
    const needless = this.#windowMin - minDepth * this.#frame;
    this.#excess = needless > 0 ? needless + margin * this.#frame : 0;
    this.#restartWindow();
  }

  #observeSoon(ahead: number): void {
    this.#soonMin = Math.min(this.#soonMin, ahead);
    if (++this.#soonCount < soon.packets) return;
    const needless = this.#soonMin - soon.aheadFrames * this.#frame;
    if (needless > 0) this.#excess = Math.max(this.#excess, needless + margin * this.#frame);
    this.#soonMin = Infinity;
    this.#soonCount = 0;
  }

  #restartWindow(): void {
    this.#windowMin = this.#soonMin = Infinity;
    this.#windowCount = this.#soonCount = 0;
  }

  /** Shortens a buffer that is deeper than needed: by a quiet frame, any frame after a second over 60 ms, at once over 200 ms. */
  #adapt(): void {
    const depth = timestampDistance(this.#newest, this.#playout);
    if (depth > (maxDepth + 2) * this.#frame) {
      this.#discard(depth - (minDepth + 1) * this.#frame);
      this.#restartWindow();
    } else if (this.#excess >= this.#frame && (this.#quietAhead() || this.#patienceEnds())) {
      this.#blend();
      this.#discard(this.#frame);
      this.#excess -= this.#frame;
      this.#waited = 0;
    }
  }

  #patienceEnds(): boolean {
    return this.#excess > (patience.excessFrames + margin) * this.#frame && ++this.#waited > patience.frames;
  }

  #discard(count: number): void {
    for (let i = 0; i < count; i++) this.#valid[(this.#playout + i) & this.#mask] = 0;
    this.#playout = (this.#playout + count) >>> 0;
  }

  /** Lets the frame that is left out pass over into the next one, without a click. */
  #blend(): void {
    for (let i = 0; i < this.#frame; i++) {
      const share = i / this.#frame;
      const next = (this.#playout + this.#frame + i) & this.#mask;
      this.#samples[next] =
        (this.#samples[(this.#playout + i) & this.#mask] ?? 0) * (1 - share) + (this.#samples[next] ?? 0) * share;
    }
  }

  #quietAhead(): boolean {
    let sum = 0;
    for (let i = 0; i < this.#frame; i++) sum += Math.abs(this.#samples[(this.#playout + i) & this.#mask] ?? 0);
    return sum < this.#frame * 60;
  }

  /** Moves the next samples into the frame, zeros where none are; the number found. */
  #take(frame: Int16Array): number {
    let found = 0;
    for (let i = 0; i < this.#frame; i++) {
      const at = (this.#playout + i) & this.#mask;
      const valid = this.#valid[at] ?? 0;
      frame[i] = valid === 1 ? (this.#samples[at] ?? 0) : 0;
      found += valid;
      this.#valid[at] = 0;
    }
    return found;
  }

  #hear(frame: Int16Array): void {
    this.#concealment.heard(frame);
    this.#heard = true;
  }

  #conceal(frame: Int16Array): boolean {
    const gap = this.#concealment.run < fadeFrames || timestampDistance(this.#newest, this.#playout) > 0;
    if (this.#heard && gap) this.#concealed += 1;
    return this.#concealment.makeUp(frame);
  }
}

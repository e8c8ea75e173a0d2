import type { FrameSource } from '../../media/audio-leg.ts';
import { framesPerSecond, tickMs } from '../../media/clock.ts';
import { FrameResampler } from '../../media/frame-resampler.ts';
import { StreamResampler } from '../../media/stream-resampler.ts';
import { SampleQueue } from './sample-queue.ts';
import { shorten, shortenedFrames } from './shorten.ts';
import { StreamReserve } from './stream-reserve.ts';

const patienceMs = 200;
const maxSeconds = 180;
const maxSamples = 4 * 1024 * 1024;
const maxMarks = 30;

/** What became of a mark: the audio before it was played, or thrown away. */
export type MarkEnd = 'playout' | 'cleared';

/** What a streamed voice tells its fork. */
export interface VoiceEvents {
  /** There is something to be heard from now on, until `read` says that there is no more. */
  begins(): void;
  mark(name: string, end: MarkEnd): void;
  /** More came than is kept; the newest was dropped. */
  overrun(): void;
}

/**
 * Audio that the far end of a fork streams into the call, at any rate and in frames of any size. It is brought to the rate that the
 * call has when the fork begins. 40 ms are collected
 * before the first is heard, 60 ms after it has run dry in the middle of a sound; less than that is heard after 200 ms
 * without more, or when a mark shows that it is all. Delay that piles up in a live stream is taken back (`StreamReserve`).
 */
export class StreamedVoice implements FrameSource {
  readonly #rate: number;
  readonly #events: VoiceEvents;
  readonly #queue = new SampleQueue();
  /** The rate of the call, and samples of a frame of it. */
  readonly #inside: number;
  readonly #frame: number;
  /** Samples at the rate of the call that the next frames are cut from. */
  readonly #ready: Int16Array;
  #readyCount = 0;
  #resampler: StreamResampler;
  #marks: { name: string; at: number }[] = [];
  #received = 0;
  #taken = 0;
  #playing = false;
  #overran = false;
  #idleTicks = 0;
  readonly #reserve = new StreamReserve();
  /** For a call that has changed its rate meanwhile. */
  readonly #changed = new FrameResampler();

  /** `rate`: of what the far end sends, `inside`: of the call, in samples per second. */
  constructor(rate: number, inside: number, events: VoiceEvents) {
    this.#rate = rate;
    this.#inside = inside;
    this.#frame = inside / framesPerSecond;
    this.#ready = new Int16Array(3 * this.#frame);
    this.#events = events;
    this.#resampler = new StreamResampler(rate, inside);
  }

  /** Takes the bytes of one frame. */
  write(bytes: Buffer): void {
    const room = Math.min(maxSeconds * this.#rate, maxSamples) - this.#queue.length;
    if (bytes.length > room * 2) return this.#overrun();
    const before = this.#queue.length;
    this.#queue.push(bytes);
    this.#received += this.#queue.length - before;
    this.#reserve.arrives(((this.#queue.length - before) * 1000) / this.#rate);
    this.#idleTicks = 0;
    if (before === 0 && this.#queue.length > 0 && !this.#playing) this.#reserve.resumes();
    if (this.#queue.length >= (this.#reserve.ms * this.#rate) / 1000) this.#begin();
  }

  /** Remembers to tell when all audio up to here has been played; at most thirty marks wait. */
  mark(name: string): void {
    if (this.#marks.length >= maxMarks) return;
    this.#marks.push({ name, at: this.#received });
    this.finish();
  }

  /** Forgets the marks without an answer. */
  clearMarks(): void {
    this.#marks = [];
  }

  /** Throws away what has not been heard yet. The marks in it are told to be cleared when `answered`. */
  clear(answered: boolean): void {
    const marks = this.#marks;
    this.#queue.clear();
    this.#silence();
    this.#taken = this.#received;
    this.clearMarks();
    if (answered) for (const { name } of marks) this.#events.mark(name, 'cleared');
  }

  /** What waits is all there is for now: it need not wait for more. */
  finish(): void {
    if (this.#queue.length > 0) this.#begin();
  }

  /** To be called every 20 ms. */
  tick(): void {
    this.#tellMarks();
    if (this.#playing) return;
    if (this.#queue.length === 0) this.#reserve.idle();
    else this.#idleTicks += 1;
    if (this.#queue.length > 0 && this.#idleTicks * tickMs >= patienceMs) this.#begin();
  }

  /** The next 20 ms; false when there is nothing left. */
  read(frame: Int16Array): boolean {
    if (!this.#playing) return false;
    const excess = this.#reserve.excess(this.#waitingMs());
    if (excess > 0) this.#shorten(excess);
    this.#convert(this.#frame);
    if (this.#readyCount === 0) {
      this.#silence();
      this.#reserve.ranDry();
      return false;
    }
    const last = this.#readyCount < this.#frame;
    if (last) this.#push(new Int16Array(Math.ceil(this.#rate / framesPerSecond) + 1)); // what the filter still holds, then silence
    frame.set(this.#changed.bring(this.#ready.subarray(0, this.#frame), frame.length * framesPerSecond));
    this.#ready.copyWithin(0, this.#frame, this.#readyCount);
    this.#readyCount = last ? 0 : this.#readyCount - this.#frame;
    return true;
  }

  #waitingMs(): number {
    return (this.#queue.length * 1000) / this.#rate + (this.#readyCount * 1000) / this.#inside;
  }

  /** Leaves up to 20 of so many ms out. */
  #shorten(excessMs: number): void {
    const wanted = shortenedFrames * this.#frame;
    this.#convert(wanted);
    if (this.#readyCount < wanted) return;
    const length = shorten(this.#ready, Math.floor((excessMs * this.#inside) / 1000), this.#frame);
    this.#ready.copyWithin(0, length, this.#readyCount);
    this.#readyCount -= length;
    this.#reserve.cut((length * 1000) / this.#inside);
  }

  /** Makes so many samples ready, if there are so many. */
  #convert(count: number): void {
    while (this.#readyCount < count && this.#queue.length > 0) {
      const samples = this.#queue.take(Math.ceil(this.#rate / framesPerSecond));
      this.#taken += samples.length;
      this.#push(samples);
    }
  }

  #push(samples: Int16Array): void {
    const converted = this.#resampler.push(samples);
    this.#ready.set(converted, this.#readyCount);
    this.#readyCount += converted.length;
  }

  #begin(): void {
    if (this.#playing) return;
    this.#playing = true;
    this.#events.begins();
  }

  #silence(): void {
    this.#playing = false;
    this.#idleTicks = 0;
    this.#readyCount = 0;
    this.#reserve.restart();
    this.#resampler = new StreamResampler(this.#rate, this.#inside);
  }

  #tellMarks(): void {
    while (this.#marks[0] && this.#marks[0].at <= this.#taken && this.#readyCount < this.#frame)
      this.#events.mark(this.#marks.shift()?.name ?? '', 'playout');
  }

  #overrun(): void {
    if (this.#overran) return;
    this.#overran = true;
    this.#events.overrun();
  }
}

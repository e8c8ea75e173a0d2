import type { FrameSource } from '../../media/audio-leg.ts';
import { frameSamples, sampleRate, tickMs } from '../../media/clock.ts';
import { StreamResampler } from '../../media/stream-resampler.ts';
import { SampleQueue } from './sample-queue.ts';

const preBufferMs = 80;
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
 * Audio that the far end of a fork streams into the call, at any rate and in frames of any size. 80 ms are collected
 * before the first is heard; less than that is heard after 200 ms without more, or when a mark shows that it is all.
 */
export class StreamedVoice implements FrameSource {
  readonly #rate: number;
  readonly #events: VoiceEvents;
  readonly #queue = new SampleQueue();
  readonly #ready: number[] = [];
  #resampler: StreamResampler;
  #marks: { name: string; at: number }[] = [];
  #received = 0;
  #taken = 0;
  #playing = false;
  #overran = false;
  #idleTicks = 0;

  /** `rate` in samples per second. */
  constructor(rate: number, events: VoiceEvents) {
    this.#rate = rate;
    this.#events = events;
    this.#resampler = new StreamResampler(rate, sampleRate);
  }

  /** Takes the bytes of one frame. */
  write(bytes: Buffer): void {
    const room = Math.min(maxSeconds * this.#rate, maxSamples) - this.#queue.length;
    if (bytes.length > room * 2) return this.#overrun();
    const before = this.#queue.length;
    this.#queue.push(bytes);
    this.#received += this.#queue.length - before;
    this.#idleTicks = 0;
    if (this.#queue.length >= (preBufferMs * this.#rate) / 1000) this.#begin();
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
    if (this.#playing || this.#queue.length === 0) return;
    this.#idleTicks += 1;
    if (this.#idleTicks * tickMs >= patienceMs) this.#begin();
  }

  /** The next 20 ms at 8 kHz; false when there is nothing left. */
  read(frame: Int16Array): boolean {
    if (!this.#playing) return false;
    while (this.#ready.length < frameSamples && this.#queue.length > 0) this.#convert();
    if (this.#ready.length === 0) {
      this.#silence();
      return false;
    }
    const last = this.#ready.length < frameSamples;
    if (last) this.#push(new Int16Array(Math.ceil(this.#rate / 50) + 1)); // what the filter still holds, then silence
    frame.set(this.#ready.splice(0, frameSamples));
    if (last) this.#ready.length = 0;
    return true;
  }

  #convert(): void {
    const samples = this.#queue.take(Math.ceil(this.#rate / 50));
    this.#taken += samples.length;
    this.#push(samples);
  }

  #push(samples: Int16Array): void {
    for (const sample of this.#resampler.push(samples)) this.#ready.push(sample);
  }

  #begin(): void {
    if (this.#playing) return;
    this.#playing = true;
    this.#events.begins();
  }

  #silence(): void {
    this.#playing = false;
    this.#idleTicks = 0;
    this.#ready.length = 0;
    this.#resampler = new StreamResampler(this.#rate, sampleRate);
  }

  #tellMarks(): void {
    while (this.#marks[0] && this.#marks[0].at <= this.#taken && this.#ready.length < frameSamples)
      this.#events.mark(this.#marks.shift()?.name ?? '', 'playout');
  }

  #overrun(): void {
    if (this.#overran) return;
    this.#overran = true;
    this.#events.overrun();
  }
}

import { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { mkdir, open } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { AudioTap } from './audio-leg.ts';
import { framesPerSecond, sampleRate, tickMs } from './clock.ts';
import { FrameResampler, silenceLike } from './frame-resampler.ts';
import { saturate } from './tones.ts';
import { wavHeader } from './sources/wav-format.ts';

const headerBytes = 44;
const flushBytes = 16_000;
const maxPending = 8 * 1024 * 1024;

/**
 * Whose voice goes into the file: the party's alone, what it hears alone, both mixed, or the party left and what it hears
 * right, or the other way round.
 */
export type RecordingLayout = 'said' | 'heard' | 'mix' | 'stereo' | 'stereo-swapped';

/** Why a recording ended by itself. */
export type RecordingEnd = 'limit' | 'silence' | 'error';

/** How to record. */
export interface RecorderOptions {
  /** Default `mix`. */
  layout?: RecordingLayout;
  /** Samples per second in the file, 8000 to 48 000; default 8000. */
  rate?: number;
  /** Milliseconds of audio after which the recording ends. */
  maxMs?: number;
  /** Ends after this many seconds below the threshold (mean of the absolute samples of what the party says). */
  silence?: { threshold: number; seconds: number };
}

/** What lies in the file. */
export interface Recorded {
  /** Per channel, at the rate of the file. */
  samples: number;
  duration_ms: number;
  bytes: number;
}

interface RecorderEvents {
  ended: [RecordingEnd];
}

/**
 * Writes a leg's audio to a file while it is spoken: 16-bit WAV at 8 kHz or more, or headerless at 8 kHz with `.r8`, `.raw` and `.sln`. The
 * header is brought up to date with every write, so that a crash leaves a file that plays. Emits `ended` once when a limit, silence
 * or the disk ends it; `stop` is still to be called.
 */
export class Recorder extends EventEmitter<RecorderEvents> implements AudioTap {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #layout: RecordingLayout;
  readonly #rate: number;
  readonly #resamplers: FrameResampler[];
  #sum = new Int16Array();
  readonly #headed: boolean;
  readonly #maxFrames: number;
  readonly #silence: { threshold: number; frames: number } | null;
  #chunk: Buffer;
  #filled = 0;
  #written: number;
  #pendingBytes = 0;
  #work: Promise<void> = Promise.resolve();
  #frames = 0;
  #samples = 0;
  #quietFrames = 0;
  #paused = false;
  #masked = false;
  #ended = false;
  #stopping: Promise<Recorded> | null = null;

  /** Creates the file and the folders above it. Rejects with the system's error, or a TypeError for another kind of file. */
  static async open(path: string, options: RecorderOptions = {}): Promise<Recorder> {
    const extension = extname(path).toLowerCase();
    if (!['.wav', '.r8', '.raw', '.sln'].includes(extension))
      throw new TypeError(`cannot record ${extension || 'a file without extension'}`);
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'w', 0o640);
    const recorder = new Recorder(path, file, extension === '.wav', options);
    await recorder.#writeHeader();
    return recorder;
  }

  private constructor(path: string, file: FileHandle, headed: boolean, options: RecorderOptions) {
    super();
    this.path = path;
    this.#file = file;
    this.#headed = headed;
    this.#written = headed ? headerBytes : 0;
    this.#layout = options.layout ?? 'mix';
    this.#rate = (headed ? options.rate : undefined) ?? sampleRate; // what says nothing of its rate is read at 8 kHz
    const channels = this.#layout.startsWith('stereo') ? 2 : 1;
    this.#resamplers = Array.from({ length: channels }, () => new FrameResampler());
    this.#maxFrames = options.maxMs === undefined ? Infinity : options.maxMs / tickMs;
    const silence = options.silence;
    this.#silence = silence
      ? { threshold: silence.threshold, frames: Math.max(1, Math.round(silence.seconds * framesPerSecond)) }
      : null;
    this.#chunk = this.#newChunk();
  }

  /** Samples recorded so far, per channel, at the rate of the file. */
  get samples(): number {
    return this.#samples;
  }

  /** Samples per second in the file. */
  get rate(): number {
    return this.#rate;
  }

  /** Takes 20 ms at any rate; nothing while paused or after the end. */
  frame(said: Int16Array, heard: Int16Array): void {
    if (this.#ended || this.#paused) return;
    if (this.#masked) this.#append(silenceLike(said), silenceLike(heard));
    else this.#append(said, heard);
    this.#frames += 1;
    if (this.#filled >= flushBytes) this.#flush();
    if (this.#frames >= this.#maxFrames) this.#end('limit');
    else if (this.#silence && this.#isQuiet(said, this.#silence)) this.#end('silence');
  }

  /** Leaves out what is said until `resume`. */
  pause(): void {
    this.#paused = true;
  }

  /** Goes on after a pause. */
  resume(): void {
    this.#paused = false;
  }

  /** Records silence in place of what is said while on. */
  mask(on: boolean): void {
    this.#masked = on;
  }

  /** Writes what is left and closes the file; the same answer every time. Rejects when the disk has failed. */
  stop(): Promise<Recorded> {
    this.#ended = true;
    this.#stopping ??= this.#finish();
    return this.#stopping;
  }

  #append(said: Int16Array, heard: Int16Array): void {
    const tracks = this.#tracks(said, heard).map(
      (track, index) => this.#resamplers[index]?.bring(track, this.#rate) ?? track,
    );
    const count = tracks[0]?.length ?? 0;
    this.#samples += count;
    for (let i = 0; i < count; i++) for (const track of tracks) this.#put(track[i] ?? 0);
  }

  #tracks(said: Int16Array, heard: Int16Array): Int16Array[] {
    if (this.#layout === 'stereo') return [said, heard];
    if (this.#layout === 'stereo-swapped') return [heard, said];
    if (this.#layout !== 'mix') return [this.#layout === 'said' ? said : heard];
    if (this.#sum.length !== said.length) this.#sum = new Int16Array(said.length);
    for (let i = 0; i < said.length; i++) this.#sum[i] = saturate((said[i] ?? 0) + (heard[i] ?? 0));
    return [this.#sum];
  }

  #put(sample: number): void {
    this.#chunk.writeInt16LE(sample, this.#filled);
    this.#filled += 2;
  }

  /** Room for the frame that makes it full, too. */
  #newChunk(): Buffer {
    return Buffer.allocUnsafe(flushBytes + Math.ceil(this.#rate / framesPerSecond + 1) * 4);
  }

  #flush(): void {
    if (this.#pendingBytes > maxPending) return this.#end('error');
    const chunk = this.#chunk.subarray(0, this.#filled);
    this.#chunk = this.#newChunk();
    this.#filled = 0;
    this.#pendingBytes += chunk.length;
    this.#work = this.#work.then(() => this.#write(chunk));
    this.#work.catch(() => this.#end('error')); // stop() rejects with it
  }

  async #write(chunk: Buffer): Promise<void> {
    // A disk that is nearly full takes a part, and says so only when it is given the rest.
    for (let done = 0; done < chunk.length;)
      done += (await this.#file.write(chunk, done, chunk.length - done, this.#written + done)).bytesWritten;
    this.#written += chunk.length;
    this.#pendingBytes -= chunk.length;
    await this.#writeHeader();
  }

  async #writeHeader(): Promise<void> {
    if (!this.#headed) return;
    const header = wavHeader(this.#rate, this.#resamplers.length, this.#written - headerBytes);
    await this.#file.write(header, 0, headerBytes, 0);
  }

  async #finish(): Promise<Recorded> {
    try {
      if (this.#filled > 0) this.#flush();
      await this.#work;
    } finally {
      await this.#file.close();
    }
    return { samples: this.#samples, duration_ms: this.#frames * tickMs, bytes: this.#written };
  }

  #isQuiet(said: Int16Array, { threshold, frames }: { threshold: number; frames: number }): boolean {
    let sum = 0;
    for (const sample of said) sum += Math.abs(sample);
    this.#quietFrames = sum / said.length < threshold ? this.#quietFrames + 1 : 0;
    return this.#quietFrames >= frames;
  }

  #end(reason: RecordingEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.emit('ended', reason);
  }
}

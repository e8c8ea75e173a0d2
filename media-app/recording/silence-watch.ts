import { type FileHandle, open } from 'node:fs/promises';
import { readFormat } from './wav.ts';

const LOOK_MS = 200;
const FRAME_SAMPLES = 160;
/** Mean of the absolute samples below which 20 ms count as silent; what media servers take by default. */
const THRESHOLD = 200;

/**
 * Listens to a capture while it is written and says when the party has been silent for long enough. Counted in audio,
 * not in time, so a disk that lags does not make a party silent.
 */
export class SilenceWatch {
  readonly #path: string;
  readonly #frames: number;
  readonly #onSilence: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #at = 0;
  #quiet = 0;

  /** @param seconds of silence in a row after which `onSilence` is called once */
  constructor(path: string, seconds: number, onSilence: () => void) {
    this.#path = path;
    this.#frames = seconds * 50;
    this.#onSilence = onSilence;
    this.#next();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #next(): void {
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
  }

  async #look(): Promise<void> {
    try {
      const file = await open(this.#path, 'r');
      await this.#listen(file).finally(() => file.close());
    } catch {
      // Not there yet, or gone with its call: the next look tells, and `stop` ends the looking.
    }
    if (this.#quiet < this.#frames) return this.#next();
    if (!this.#stopped) this.#onSilence();
    this.stop();
  }

  async #listen(file: FileHandle): Promise<void> {
    const { at, bytes, channels } = await readFormat(file);
    const frameBytes = FRAME_SAMPLES * 2 * channels;
    const block = Buffer.alloc(frameBytes * 50);
    while (this.#at + frameBytes <= bytes && this.#quiet < this.#frames) {
      const wanted = Math.min(block.length, bytes - this.#at);
      const { bytesRead } = await file.read(block, 0, wanted, at + this.#at);
      const frames = Math.floor(bytesRead / frameBytes);
      if (frames === 0) return;
      for (let i = 0; i < frames && this.#quiet < this.#frames; i++)
        this.#hear(block.subarray(i * frameBytes, (i + 1) * frameBytes), channels);
      this.#at += frames * frameBytes;
    }
  }

  /** The party speaks on the first channel. */
  #hear(frame: Buffer, channels: number): void {
    let sum = 0;
    for (let i = 0; i < FRAME_SAMPLES; i++) sum += Math.abs(frame.readInt16LE(i * 2 * channels));
    this.#quiet = sum / FRAME_SAMPLES < THRESHOLD ? this.#quiet + 1 : 0;
  }
}

import type { FrameSource } from '../audio-leg.ts';
import { frameSamples } from '../clock.ts';

/** What is to be played cannot be found, read or understood. */
export class FileNotFoundError extends Error {
  constructor(spec: string, reason = 'not found') {
    super(`${spec.slice(0, 200)}: ${reason}`);
    this.name = 'FileNotFoundError';
  }
}

/** Samples of some material, in any portions. */
export interface SampleReader {
  /** Writes samples at `from` to the end of `out` and returns how many; fewer than there is room for only at the end. */
  pull(out: Int16Array, from: number): number;
  /** Length from here to the end in samples; absent when endless or unknown. */
  length?: number;
  /** Where reading starts, in samples from the start of the material. */
  start?: number;
}

/** A reader as a leg wants it: whole frames, the last one filled up with silence. */
export class ReaderSource implements FrameSource {
  readonly durationMs?: number;
  position: number;
  readonly #reader: SampleReader;

  constructor(reader: SampleReader) {
    this.#reader = reader;
    this.position = reader.start ?? 0;
    if (reader.length !== undefined) this.durationMs = Math.round(reader.length / 8);
  }

  read(frame: Int16Array): boolean {
    const count = this.#reader.pull(frame, 0);
    if (count === 0) return false;
    if (count < frameSamples) frame.fill(0, count);
    this.position += count;
    return true;
  }
}

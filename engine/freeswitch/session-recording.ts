import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Recorder } from '../media/recorder.ts';
import type { Channel } from './channel.ts';

const maxRecordings = 16;

/** A recording that runs beside whatever the channel does, both sides of the call, until it is stopped. */
export class SessionRecording {
  readonly path: string;
  readonly #channel: Channel;
  readonly #recorder: Recorder;
  readonly #removeTap: () => void;
  #stopped: Promise<void> | null = null;

  constructor(channel: Channel, path: string, recorder: Recorder) {
    this.path = path;
    this.#channel = channel;
    this.#recorder = recorder;
    this.#removeTap = channel.leg.addTap(recorder);
    channel.recordings.set(path, this);
    channel.raise('RECORD_START', { 'Record-File-Path': path });
  }

  /** Records silence instead of the call while on. */
  mask(on: boolean): void {
    this.#recorder.mask(on);
  }

  /** Closes the file; RECORD_STOP follows when it is complete. */
  stop(): Promise<void> {
    this.#stopped ??= this.#finish();
    return this.#stopped;
  }

  async #finish(): Promise<void> {
    this.#removeTap();
    this.#channel.recordings.delete(this.path);
    await this.#recorder.stop();
    const ms = Math.round(this.#recorder.samples / 8);
    this.#channel.set('record_ms', String(ms));
    this.#channel.set('record_seconds', String(Math.floor(ms / 1000)));
    this.#channel.set('record_samples', String(this.#recorder.samples));
    this.#channel.raise('RECORD_STOP', { 'Record-File-Path': this.path });
  }
}

import { Recorder } from '../media/recorder.ts';
import type { Channel } from './channel.ts';

const maxRecordings = 16;
const silence = new Int16Array(160);

/** A recording that runs beside whatever the channel does, both sides of the call, until it is stopped. */
export class SessionRecording {
  readonly path: string;
  readonly #channel: Channel;
  readonly #recorder: Recorder;
  readonly #removeTap: () => void;
  #masked = false;
  #stopped: Promise<void> | null = null;

  constructor(channel: Channel, path: string, recorder: Recorder) {
    this.path = path;
    this.#channel = channel;
    this.#recorder = recorder;
    this.#removeTap = channel.leg.addTap({ frame: (said, heard) => this.#frame(said, heard) });
    recorder.once('ended', () => void this.stop());
    channel.recordings.set(path, this);
    channel.raise('RECORD_START', { 'Record-File-Path': path });
  }

  /** Records silence instead of the call while on. */
  mask(on: boolean): void {
    this.#masked = on;
  }

  /** Closes the file; RECORD_STOP follows when it is complete. Never rejects: a failed disk has been logged. */
  stop(): Promise<void> {
    this.#stopped ??= this.#finish();
    return this.#stopped;
  }

  #frame(said: Int16Array, heard: Int16Array): void {
    if (this.#masked) this.#recorder.frame(silence, silence);
    else this.#recorder.frame(said, heard);
  }

  async #finish(): Promise<void> {
    const channel = this.#channel;
    this.#removeTap();
    channel.recordings.delete(this.path);
    try {
      const { samples, bytes } = await this.#recorder.stop();
      setRecordFigures(channel, samples, bytes);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      channel.core.options.log.warn({ uuid: channel.uuid, file: this.path, reason }, 'recording is incomplete');
    }
    channel.raise('RECORD_STOP', { 'Record-File-Path': this.path });
  }
}

/** The variables that tell how much was recorded. */
export function setRecordFigures(channel: Channel, samples: number, bytes: number): void {
  const ms = Math.round(samples / 8);
  channel.set('record_file_size', String(bytes));
  channel.set('record_seconds', String(Math.floor(ms / 1000)));
  channel.set('record_ms', String(ms));
  channel.set('record_samples', String(samples));
}

/**
 * Starts recording both sides of the call; RECORD_STEREO=true keeps them apart.
 * @param limitSeconds 0 for no limit
 * @throws Error when the file cannot be created or too many recordings run
 */
export async function startRecording(channel: Channel, path: string, limitSeconds: number): Promise<void> {
  if (path === '') throw new Error('no file is named');
  if (channel.recordings.size >= maxRecordings) throw new Error(`more than ${maxRecordings} recordings`);
  if (channel.recordings.has(path)) throw new Error('this file is being recorded already');
  const layout = channel.get('RECORD_STEREO') === 'true' ? 'stereo' : 'mix';
  const recorder = await Recorder.open(path, { layout, ...(limitSeconds > 0 ? { maxMs: limitSeconds * 1000 } : {}) });
  if (channel.hangupCause === null) new SessionRecording(channel, path, recorder);
  else await recorder.stop();
}

/** Stops the recording of a path, or every one with `all`; false when there is none. */
export async function stopRecordings(channel: Channel, path: string): Promise<boolean> {
  const chosen = [...channel.recordings.values()].filter(one => path === 'all' || one.path === path);
  await Promise.all(chosen.map(one => one.stop()));
  return chosen.length > 0;
}

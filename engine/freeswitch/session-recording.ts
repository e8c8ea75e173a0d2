import { rm } from 'node:fs/promises';
import type { Recorded, RecordingLayout } from '../media/recorder.ts';
import { Recorder } from '../media/recorder.ts';
import type { Channel } from './channel.ts';

const maxRecordings = 16;
const maxRate = 48_000;

/** A recording that runs beside whatever the channel does, both sides of the call, until it is stopped. */
export class SessionRecording {
  readonly path: string;
  readonly #channel: Channel;
  readonly #recorder: Recorder;
  readonly #removeTap: () => void;
  readonly #minMs: number;
  #stopped: Promise<void> | null = null;

  /** `minMs`: a file shorter than this is thrown away at the end. */
  constructor(channel: Channel, path: string, recorder: Recorder, minMs = 0) {
    this.path = path;
    this.#minMs = minMs;
    this.#channel = channel;
    this.#recorder = recorder;
    this.#removeTap = channel.leg.addTap(recorder);
    recorder.once('ended', () => void this.stop());
    channel.recordings.set(path, this);
    channel.raise('RECORD_START', { 'Record-File-Path': path });
  }

  /** Records silence instead of the call while on. */
  mask(on: boolean): void {
    this.#recorder.mask(on);
  }

  /** Closes the file; RECORD_STOP follows when it is complete. Never rejects: a failed disk has been logged. */
  stop(): Promise<void> {
    this.#stopped ??= this.#finish();
    return this.#stopped;
  }

  async #finish(): Promise<void> {
    const channel = this.#channel;
    this.#removeTap();
    channel.recordings.delete(this.path);
    try {
      const recorded = await this.#recorder.stop();
      setRecordFigures(channel, recorded);
      if (recorded.duration_ms < this.#minMs) await this.#discard();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      channel.core.options.log.warn({ uuid: channel.uuid, file: this.path, reason }, 'recording is incomplete');
    }
    channel.raise('RECORD_STOP', { 'Record-File-Path': this.path });
  }

  async #discard(): Promise<void> {
    await rm(this.path, { force: true });
    this.#channel.set('RECORD_DISCARDED', 'true');
  }
}

/** The variables that tell how much was recorded; samples are counted at the rate of the codec, whatever that of the file. */
export function setRecordFigures(channel: Channel, { duration_ms, bytes }: Recorded): void {
  channel.set('record_file_size', String(bytes));
  channel.set('record_seconds', String(Math.floor(duration_ms / 1000)));
  channel.set('record_ms', String(duration_ms));
  channel.set('record_samples', String((duration_ms * channel.leg.codecRate) / 1000));
}

/**
 * Starts recording. Both sides of the call are mixed at the rate that the call has inside unless the channel's variables, or those in `text` before
 * them, say otherwise: RECORD_STEREO and RECORD_STEREO_SWAP keep them apart, RECORD_READ_ONLY takes only what the party
 * says and RECORD_WRITE_ONLY only what it hears, RECORD_MIN_SEC throws shorter files away, record_sample_rate is the rate.
 * @param limitSeconds 0 for no limit
 * @param text `{name=value,…}` for this recording alone
 * One that is being recorded to this file already goes on as it is, as on FreeSWITCH.
 * @throws Error when the file cannot be created or too many recordings run
 */
export async function startRecording(channel: Channel, path: string, limitSeconds: number, text = ''): Promise<void> {
  if (path === '') throw new Error('no file is named');
  if (channel.recordings.has(path)) return;
  if (channel.recordings.size >= maxRecordings) throw new Error(`more than ${maxRecordings} recordings`);
  const own = variablesIn(text);
  const get = (name: string): string | undefined => own.get(name) ?? channel.get(name);
  const maxMs = limitSeconds > 0 ? { maxMs: limitSeconds * 1000 } : {};
  const recorder = await Recorder.open(path, { layout: layoutOf(get), rate: recordingRate(channel, get), ...maxMs });
  const minMs = Math.max(0, Number(get('RECORD_MIN_SEC')) * 1000 || 0);
  const taken = channel.recordings.has(path); // by another that was being opened meanwhile
  if (channel.hangupCause === null && !taken) new SessionRecording(channel, path, recorder, minMs);
  else await recorder.stop();
  if (taken) throw new Error('this file is being recorded already');
}

/** The rate that `record_sample_rate` asks for; that of the leg when it is unset or makes no sense. */
export function recordingRate({ leg }: Channel, get: (name: string) => string | undefined): number {
  const rate = Number(get('record_sample_rate'));
  return Number.isInteger(rate) && rate >= 8000 && rate <= maxRate ? rate : leg.rate;
}

function layoutOf(get: (name: string) => string | undefined): RecordingLayout {
  const on = (name: string): boolean => get(name) === 'true';
  if (on('RECORD_STEREO_SWAP')) return 'stereo-swapped';
  if (on('RECORD_STEREO')) return 'stereo';
  if (on('RECORD_READ_ONLY')) return 'said';
  return on('RECORD_WRITE_ONLY') ? 'heard' : 'mix';
}

function variablesIn(text: string): Map<string, string> {
  const inside = /^\{(.*)\}$/s.exec(text.trim())?.[1] ?? '';
  return new Map(
    inside.split(',').map(one => {
      const [name = '', ...value] = one.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}

/** Stops the recording of a path, or every one with `all`; false when there is none. */
export async function stopRecordings(channel: Channel, path: string): Promise<boolean> {
  const chosen = [...channel.recordings.values()].filter(one => path === 'all' || one.path === path);
  await Promise.all(chosen.map(one => one.stop()));
  return chosen.length > 0;
}

import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PlatformError } from '#contract/errors';
import type { LiveEventType, LiveRecord } from '#contract/events';
import { newId } from '#contract/ids';
import { recordingMachine } from '#contract/machines/recording';
import {
  endsRecording,
  newRecording,
  type Recording,
  type RecordingOptions,
  recordingFiles,
} from '#contract/recording';
import { timestamp, toMillis } from '#contract/time';
import { Mailbox } from '../call/mailbox.ts';
import { LostRecordError } from '../call/state-store.ts';
import { deferred } from '../deferred.ts';
import type { Log } from '../log.ts';
import type { Services } from '../services.ts';
import { recordingsFolder } from './folder.ts';
import { keepRecording } from './keep.ts';
import { runOnEndFlow } from './on-end.ts';
import { SilenceWatch } from './silence-watch.ts';

/** The media server ends a recording by itself this much after we should have, should we be gone. */
const GRACE_S = 2;
/** What was captured may differ from the time that passed by this much, and by two in a hundred. */
const TOLERANCE_MS = 1000;

/** What is recorded, as a recording sees it. */
export interface Subject {
  reference: Pick<Recording, 'customer_id' | 'activeflow_id' | 'reference_type' | 'reference_id'>;
  /** Captures what `keepRecording` makes its files of: both sides of a call, the mix of a conference. */
  record(file: string, limitSeconds: number): Promise<void>;
  /** Resolves when the file is whole. */
  stopRecording(file: string): Promise<void>;
  /** Keys the party presses. Returns the function that stops listening. */
  onDigit(listener: (digit: string) => void): () => void;
  /** The variables that the on-end flow inherits. */
  variables(): Record<string, string>;
  /** The recording has left the status `recording`. */
  left(): Promise<void>;
}

type RecordingEvent = Parameters<typeof recordingMachine.step>[1];

/**
 * One recording: its record, its limits and its files. What happens to it goes through its mailbox, every status through
 * `recordingMachine`. It ends with its subject, and is over when its files are kept.
 */
export class RecordingSession {
  /** Resolves when the record is final. */
  readonly ended: Promise<void>;
  readonly #over = deferred<void>();
  readonly #services: Services;
  readonly #subject: Subject;
  readonly #options: RecordingOptions;
  readonly #requestId: string;
  readonly #record: LiveRecord<'recording'>;
  readonly #mailbox: Mailbox;
  readonly #log: Log;
  readonly #capture: string;
  #limits: (() => void)[] = [];

  constructor(services: Services, subject: Subject, options: RecordingOptions, requestId: string) {
    const { on_end_flow_id } = options;
    const recording = newRecording({ ...subject.reference, id: newId(), on_end_flow_id, tm_create: timestamp() });
    this.#services = services;
    this.#subject = subject;
    this.#options = options;
    this.#requestId = requestId;
    this.#record = services.store.create('recording', recording);
    const { reference_type, reference_id } = recording;
    const of = reference_type === 'call' ? 'call_id' : 'conference_id';
    this.#log = services.log.child({ recording_id: recording.id, [of]: reference_id });
    this.#mailbox = new Mailbox(this.#log);
    this.#capture = join(recordingsFolder(services.settings), recordingFiles(recording).capture);
    this.ended = this.#over.promise;
    services.registry.recordings.set(recording.id, this);
  }

  get recording(): Recording {
    return this.#record.data;
  }

  /** Writes the new record; call it first. */
  create(): Promise<void> {
    return this.#mailbox.post(() => this.#commit({}, []));
  }

  /**
   * Starts to capture.
   * @throws PlatformError SERVICE_UNAVAILABLE when the media server cannot; the recording has ended then
   */
  start(): Promise<void> {
    return this.#mailbox.post(async () => {
      try {
        await mkdir(dirname(this.#capture), { recursive: true });
        const { duration } = this.#options;
        await this.#subject.record(this.#capture, duration && duration + GRACE_S);
        await access(this.#capture); // a media server says yes to a file that it cannot write
      } catch (error) {
        await this.#fail(error);
        throw new PlatformError('SERVICE_UNAVAILABLE', 'The media server could not start the recording.');
      }
      await this.#enter('ready', { tm_start: timestamp() }, 'recording_started');
      this.#limit();
    });
  }

  /** Ends it, whoever asks; false when it was ending already. Resolves before the files are kept. */
  stop(): Promise<boolean> {
    return this.#mailbox.post(async () => {
      if (!(await this.#enter('stop', {}))) return false;
      this.#unlimit();
      await this.#subject.left();
      void this.#finish(Date.now());
      return true;
    });
  }

  #limit(): void {
    const stop = () => void this.stop();
    const { duration, end_of_silence, end_of_key } = this.#options;
    if (duration > 0) {
      const timer = setTimeout(stop, duration * 1000);
      this.#limits.push(() => clearTimeout(timer));
    }
    if (end_of_silence > 0) {
      const watch = new SilenceWatch(this.#capture, end_of_silence, stop);
      this.#limits.push(() => watch.stop());
    }
    this.#limits.push(this.#subject.onDigit(digit => endsRecording(end_of_key, digit) && stop()));
  }

  #unlimit(): void {
    for (const remove of this.#limits) remove();
    this.#limits = [];
  }

  async #fail(error: unknown): Promise<void> {
    this.#log.error({ error: String(error) }, 'the recording did not start');
    await this.#enter('fail', { tm_end: timestamp() }, undefined, { failure: String(error) });
    await this.#subject.left();
    this.#close();
  }

  /** Waits for the last audio, keeps the files, tells the end. Never rejects. */
  async #finish(stoppedAt: number): Promise<void> {
    try {
      await this.#subject.stopRecording(this.#capture);
      const facts = await this.#keep(stoppedAt);
      await this.#mailbox.post(() => this.#enter('flush', { tm_end: timestamp() }, 'recording_finished', facts));
      await runOnEndFlow(this.#services, this.recording, this.#subject.variables());
    } catch (error) {
      this.#log.error({ error: String(error) }, 'the recording could not be ended as it should');
    }
    this.#close();
  }

  /** What became of the audio, as facts kept with the record. */
  async #keep(stoppedAt: number): Promise<Record<string, unknown>> {
    try {
      const contents = await keepRecording(dirname(this.#capture), this.recording, true);
      return this.#compare(stoppedAt, (contents.files[0]?.duration ?? 0) * 1000);
    } catch (error) {
      this.#log.error({ error: String(error), file: this.#capture }, 'the recording could not be saved');
      return { failure: String(error) };
    }
  }

  /** A recording that is shorter or longer than the time it ran has lost something, and must say so. */
  #compare(stoppedAt: number, actual_ms: number): Record<string, unknown> {
    const { tm_start } = this.recording;
    const expected_ms = tm_start ? Math.round(stoppedAt - toMillis(tm_start)) : 0;
    const facts = { expected_ms, actual_ms };
    if (Math.abs(expected_ms - actual_ms) > TOLERANCE_MS + expected_ms / 50)
      this.#log.warn(facts, 'the recording is not as long as the time it ran');
    return facts;
  }

  #close(): void {
    this.#services.registry.recordings.delete(this.recording.id);
    this.#over.resolve();
  }

  async #enter(
    event: RecordingEvent,
    changes: Partial<Recording>,
    told?: LiveEventType<'recording'>,
    internal: Record<string, unknown> = {},
  ): Promise<boolean> {
    const step = recordingMachine.step(this.recording.status, event);
    if (!step) return false;
    this.#log.info({ status: step.to }, `recording ${step.to}`);
    await this.#commit({ ...changes, status: step.to }, told ? [told] : [], step, internal);
    return true;
  }

  async #commit(
    changes: Partial<Recording>,
    events: LiveEventType<'recording'>[],
    step?: ReturnType<typeof recordingMachine.step>,
    internal: Record<string, unknown> = {},
  ): Promise<void> {
    const change = { events, internal, request_id: this.#requestId, step };
    try {
      await this.#services.store.commit(this.#record, { ...this.recording, ...changes }, change);
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.#log.error({ error: error.message }, 'another node ended this recording; letting go of it');
    }
  }
}

import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PlatformError } from '#contract/errors';
import type { LiveRecord } from '#contract/events';
import { newId } from '#contract/ids';
import { recordingMachine } from '#contract/machines/recording';
import {
  endsRecording,
  newRecording,
  type Recording,
  type RecordingOptions,
  recordingFiles,
} from '#contract/recording';
import { timestamp } from '#contract/time';
import { Mailbox } from '../call/mailbox.ts';
import { type Change, LostRecordError } from '../call/state-store.ts';
import { deferred } from '../deferred.ts';
import type { Log } from '#process/log';
import type { Services } from '../services.ts';
import { faultOf, failureOf, lengthsOf, type RecordingFacts, tellEnd } from './ending.ts';
import { recordingsFolder } from './folder.ts';
import { keepRecording } from './keep.ts';
import { runOnEndFlow } from './on-end.ts';
import { SilenceWatch } from './silence-watch.ts';

/** The media server ends a recording by itself this much after we should have, should we be gone. */
const GRACE_S = 2;

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
/** What is told with a change; nothing when it is told to nobody. */
type Told = Pick<Change<'recording'>, 'events' | 'notes' | 'internal'>;
const UNTOLD: Told = { events: [] };

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
    return this.#mailbox.post(() => this.#commit({}, UNTOLD));
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
      await this.#enter('ready', { tm_start: timestamp() }, { events: ['recording_started'] });
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
    await this.#subject.stopRecording(this.#capture); // it may have begun
    await this.#enter('fail', { tm_end: timestamp() }, tellEnd(this.recording, failureOf(error)));
    await this.#subject.left();
    this.#close();
  }

  /** Waits for the last audio, keeps the files, tells the end. Never rejects. */
  async #finish(stoppedAt: number): Promise<void> {
    try {
      await this.#subject.stopRecording(this.#capture);
      const facts = await this.#keep(stoppedAt);
      const told = tellEnd(this.recording, facts);
      await this.#mailbox.post(() => this.#enter('flush', { tm_end: timestamp() }, told));
      await runOnEndFlow(this.#services, this.recording, this.#subject.variables());
    } catch (error) {
      this.#log.error({ error: String(error) }, 'the recording could not be ended as it should');
    }
    this.#close();
  }

  /** What became of the audio. One that is not as long as the time it ran has lost something, and must say so. */
  async #keep(stoppedAt: number): Promise<RecordingFacts> {
    try {
      const contents = await keepRecording(dirname(this.#capture), this.recording, true);
      const facts = lengthsOf(this.recording, stoppedAt, Math.round((contents.files[0]?.duration ?? 0) * 1000));
      if (faultOf(this.recording, facts)) this.#log.warn(facts, 'the recording is not as long as the time it ran');
      return facts;
    } catch (error) {
      this.#log.error({ error: String(error), file: this.#capture }, 'the recording could not be saved');
      return failureOf(error);
    }
  }

  #close(): void {
    this.#services.registry.recordings.delete(this.recording.id);
    this.#over.resolve();
  }

  async #enter(event: RecordingEvent, changes: Partial<Recording>, told: Told = UNTOLD): Promise<boolean> {
    const step = recordingMachine.step(this.recording.status, event);
    if (!step) return false;
    this.#log.info({ status: step.to }, `recording ${step.to}`);
    await this.#commit({ ...changes, status: step.to }, { ...told, step });
    return true;
  }

  async #commit(changes: Partial<Recording>, told: Change<'recording'>): Promise<void> {
    const change = { ...told, request_id: this.#requestId };
    try {
      await this.#services.store.commit(this.#record, { ...this.recording, ...changes }, change);
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.#log.error({ error: error.message }, 'another node ended this recording; letting go of it');
    }
  }
}

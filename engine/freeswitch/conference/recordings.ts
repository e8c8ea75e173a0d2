import type { EslHeaders } from '../../esl/encode.ts';
import type { MediaLog } from '../core.ts';
import { silenceLike } from '../../media/frame-resampler.ts';
import { Recorder } from '../../media/recorder.ts';

const maxRecordings = 16;

/** What recordings need of their conference. */
export interface RecordingsPort {
  raise(headers: EslHeaders): void;
  log: MediaLog;
  /** Samples per second of the next recording. */
  rate(): number;
}

/** The recordings of one conference: WAV files of everything that is heard in it. */
export class Recordings {
  readonly #port: RecordingsPort;
  readonly #recorders = new Map<string, Recorder>();
  readonly #opening = new Set<string>();
  #closed = false;

  constructor(port: RecordingsPort) {
    this.#port = port;
  }

  /** Files that are being written. */
  get paths(): string[] {
    return [...this.#recorders.keys()];
  }

  /** Takes 20 ms of the mix. */
  frame(mix: () => Int16Array): void {
    if (this.#recorders.size === 0) return;
    const frame = mix();
    for (const recorder of this.#recorders.values()) recorder.frame(frame, silenceLike(frame));
  }

  /**
   * Starts a recording.
   * @throws Error when the file cannot be created, is being recorded already, or there are too many
   */
  async start(path: string): Promise<void> {
    if (this.#closed) throw new Error('the conference is over');
    if (this.#recorders.size + this.#opening.size >= maxRecordings) throw new Error(`more than ${maxRecordings} files`);
    if (this.#recorders.has(path) || this.#opening.has(path)) throw new Error('it is being recorded already');
    this.#opening.add(path);
    try {
      await this.#begin(path, await Recorder.open(path, { layout: 'said', rate: this.#port.rate() }));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#port.raise({ Action: 'start-recording', Path: path, Error: reason });
      throw error;
    } finally {
      this.#opening.delete(path);
    }
  }

  /** Leaves out what is said, or goes on; false when there is no such recording. */
  pause(path: string, on: boolean): boolean {
    const recorder = this.#recorders.get(path);
    if (!recorder) return false;
    if (on) recorder.pause();
    else recorder.resume();
    const Action = on ? 'pause-recording' : 'resume-recording';
    this.#port.raise({ Action, Path: path, 'Other-Recordings': String(this.#recorders.size > 1) });
    return true;
  }

  /** Completes a recording; false when there is none of this path. A failed disk is logged. */
  async stop(path: string): Promise<boolean> {
    const recorder = this.#recorders.get(path);
    if (!recorder) return false;
    this.#recorders.delete(path);
    this.#port.raise({
      Action: 'stop-recording',
      Path: path,
      'Other-Recordings': String(this.#recorders.size > 0),
      ...(await this.#complete(recorder)),
    });
    return true;
  }

  /** Completes all of them; no new ones begin. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.paths.map(path => this.stop(path)));
  }

  async #begin(path: string, recorder: Recorder): Promise<void> {
    if (this.#closed) {
      await recorder.stop();
      throw new Error('the conference is over');
    }
    this.#recorders.set(path, recorder);
    recorder.once('ended', () => void this.stop(path));
    this.#port.raise({ Action: 'start-recording', Path: path });
  }

  async #complete(recorder: Recorder): Promise<EslHeaders> {
    const { samples, rate } = recorder;
    let size = 0;
    try {
      size = (await recorder.stop()).bytes;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#port.log.warn({ file: recorder.path, reason }, 'recording of a conference is incomplete');
    }
    return {
      'Samples-Out': String(samples),
      Samplerate: String(rate),
      'Milliseconds-Elapsed': String(Math.round((samples * 1000) / rate)),
      'Record-File-Size': String(size),
    };
  }
}

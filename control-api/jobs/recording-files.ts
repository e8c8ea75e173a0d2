import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Recording, recordingFiles } from '#contract/recording';
import type { Db } from '../db.ts';

const HOUR_MS = 3_600_000;
const BATCH = 100;

interface Row {
  id: string;
  data: Recording;
}

/**
 * Removes the files of deleted recordings, in the background: soon after a deletion, and every hour those that a crash
 * or a disk left behind.
 */
export class RecordingFiles {
  readonly #db: Db;
  readonly #folder: string;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(db: Db, folder: string, log: Logger) {
    this.#db = db;
    this.#folder = folder;
    this.#log = log;
  }

  start(): void {
    this.sweep();
    this.#timer = setInterval(() => this.sweep(), HOUR_MS).unref();
  }

  /** Stops looking and waits for what is being removed. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweep;
  }

  /** Looks for files to remove, after any look that is on its way. Nobody waits for it. */
  sweep(): void {
    this.#sweep = this.#sweep
      .then(() => this.#removeAll())
      // The next hour tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => this.#log.warn({ err: error }, 'files of deleted recordings not removed'));
  }

  async #removeAll(): Promise<void> {
    for (;;) {
      const rows = await this.#db<Row>('recordings')
        .whereNotNull('tm_delete')
        .andWhere('files_removed', false)
        .limit(BATCH)
        .select('id', 'data');
      for (const row of rows as Row[]) await this.#remove(row);
      if (rows.length < BATCH) return;
    }
  }

  async #remove({ id, data }: Row): Promise<void> {
    for (const file of Object.values(recordingFiles(data))) await rm(join(this.#folder, file), { force: true });
    await this.#db('recordings').where({ id }).update({ files_removed: true });
    this.#log.info({ recording_id: id }, 'the files of a deleted recording are removed');
  }
}

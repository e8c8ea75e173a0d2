import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { timestamp } from '#contract/time';
import type { Db } from '../db.ts';
import type { Vault } from '../storage/vault.ts';

const HOUR_MS = 3_600_000;
const BATCH = 100;
const FIRST = '00000000-0000-0000-0000-000000000000';

interface Parts {
  db: Db;
  vault: Vault;
  /** Where uploads are received; what a dead process left there goes too. */
  uploadFolder: string;
  log: Logger;
}

/**
 * Removes the bytes of stored files that are deleted, or were never kept, in the background: soon after a deletion, and
 * every hour those that a crash or a storage behind were in the way of.
 */
export class StoredFiles {
  readonly #parts: Parts;
  #timer: NodeJS.Timeout | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
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

  /** Looks for bytes to remove, after any look that is on its way. Nobody waits for it. */
  sweep(): void {
    this.#sweep = this.#sweep
      .then(() => this.#removeAll())
      .then(() => this.#removeUploads())
      // The next hour tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'deleted files are not swept'));
  }

  /** Page after page by id, so that one that cannot be removed now is not in the way of the others. */
  async #removeAll(): Promise<void> {
    for (let after = FIRST; ;) {
      const ids = await this.#after(after);
      for (const id of ids) await this.#remove(id);
      const last = ids[BATCH - 1];
      if (last === undefined) return;
      after = last;
    }
  }

  /** Recordings have files of their own, which go with them. */
  async #after(id: string): Promise<string[]> {
    const rows = this.#parts.db('storage_files').where({ removed: false }).where('tm_delete', '<=', timestamp());
    const due = rows.whereNot('reference_type', 'recording').where('id', '>', id);
    return due.orderBy('id').limit(BATCH).pluck<string[]>('id');
  }

  async #remove(id: string): Promise<void> {
    const { db, vault, log } = this.#parts;
    try {
      await vault.remove(id);
      await db('storage_files').where({ id }).update({ removed: true });
      log.info({ file_id: id }, 'the bytes of a deleted file are removed');
    } catch (error) {
      // The next hour tries again.
      log.warn({ err: error, file_id: id }, 'the bytes of a deleted file are not removed');
    }
  }

  /** No upload takes an hour: a request is cut long before. */
  async #removeUploads(): Promise<void> {
    const { uploadFolder } = this.#parts;
    // Without the folder there is nothing in it.
    for (const name of await readdir(uploadFolder).catch(() => [])) {
      const path = join(uploadFolder, name);
      // Gone meanwhile: its request was answered.
      const age = await stat(path).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (age > HOUR_MS) await rm(path, { force: true });
    }
  }
}

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '#process/log';
import { timestamp } from '#contract/time';
import type { Db } from '../db.ts';
import type { Vault } from '../storage/vault.ts';
import { Sweep } from './sweep.ts';

const HOUR_MS = 3_600_000;
const BATCH = 100;
const FIRST = '00000000-0000-0000-0000-000000000000';

interface Parts {
  db: Db;
  vault: Vault;
  /** Where uploads are received; what a dead process left there goes too. */
  uploadFolder: string;
  log: Log;
}

const remove = async ({ db, vault, log }: Parts, id: string): Promise<void> => {
  try {
    await vault.remove(id);
    await db('storage_files').where({ id }).update({ removed: true });
    log.info({ file_id: id }, 'the bytes of a deleted file are removed');
  } catch (error) {
    // The next hour tries again.
    log.warn({ err: error, file_id: id }, 'the bytes of a deleted file are not removed');
  }
};

/** Those behind an id that are due. */
const idsAfter = async ({ db }: Parts, id: string): Promise<string[]> => {
  const rows = db('storage_files').where({ removed: false }).where('tm_delete', '<=', timestamp());
  return rows.where('id', '>', id).orderBy('id').limit(BATCH).pluck<string[]>('id');
};

/** Page after page by id, so that one that cannot be removed now is not in the way of the others. */
const removeAll = async (parts: Parts): Promise<void> => {
  for (let after = FIRST; ;) {
    const ids = await idsAfter(parts, after);
    for (const id of ids) await remove(parts, id);
    const last = ids[BATCH - 1];
    if (last === undefined) return;
    after = last;
  }
};

/** No upload takes an hour: a request is cut long before. */
const removeUploads = async ({ uploadFolder }: Parts): Promise<void> => {
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
};

/** Removes the bytes of stored files that are deleted, or were never kept, and what a dead process was receiving. */
export const storedFileSweep = (parts: Parts): Sweep => {
  const work = async (): Promise<void> => {
    await removeAll(parts);
    await removeUploads(parts);
  };
  return new Sweep(work, 'deleted files are not swept', parts.log);
};

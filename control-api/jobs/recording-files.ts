import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Recording, recordingFiles } from '#contract/recording';
import type { Db } from '../db.ts';
import { Sweep } from './sweep.ts';

const BATCH = 100;

interface Row {
  id: string;
  data: Recording;
}

const removeAll = async (db: Db, folder: string, log: Logger): Promise<void> => {
  for (;;) {
    const rows = await db('recordings')
      .whereNotNull('tm_delete')
      .andWhere('files_removed', false)
      .limit(BATCH)
      .select<Row[]>('id', 'data');
    for (const { id, data } of rows) {
      for (const file of Object.values(recordingFiles(data))) await rm(join(folder, file), { force: true });
      await db('recordings').where({ id }).update({ files_removed: true });
      log.info({ recording_id: id }, 'the files of a deleted recording are removed');
    }
    if (rows.length < BATCH) return;
  }
};

/** Removes the files of deleted recordings from their folder. */
export const recordingSweep = (db: Db, folder: string, log: Logger): Sweep =>
  new Sweep(() => removeAll(db, folder, log), 'files of deleted recordings not removed', log);

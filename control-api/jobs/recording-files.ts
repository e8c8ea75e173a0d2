import type { Recording } from '#contract/recording';
import type { Db } from '../db.ts';
import { type RecordingKeeper, removeRecording, storeRecording } from '../storage/recording-files.ts';
import { Sweep } from './sweep.ts';

/** Any fixed number: the advisory lock of "I look after the files of recordings". */
const RECORDINGS_LOCK = 7_120_604;
const BATCH = 100;
const LOOK_MS = 1000;

/** How long after a failure, and after nothing was there to keep, it is tried again: PostgreSQL intervals. */
const AGAIN = { failed: '1 minute', nothing: '1 hour' };

interface Due {
  id: string;
  data: Recording;
  tm_delete: string | null;
}

/** Ended ones whose files lie with media-app still, and deleted ones that have files (migration 030 has the index). */
const due = (db: Db): Promise<Due[]> =>
  db<Due>('recordings')
    .whereRaw(
      `data ->> 'status' = 'ended' and (files = 'local' or tm_delete is not null and files <> 'removed') and files_due <= now()`,
    )
    .orderBy('files_due')
    .limit(BATCH)
    .select('id', 'data', 'tm_delete');

const postpone = async ({ db }: RecordingKeeper, id: string, interval: string): Promise<void> => {
  await db('recordings')
    .where({ id })
    .update({ files_due: db.raw('now() + ?::interval', [interval]) });
};

const lookAfter = async (keeper: RecordingKeeper, { id, data, tm_delete }: Due): Promise<void> => {
  try {
    if (tm_delete !== null) return await removeRecording(keeper, data);
    if (await storeRecording(keeper, data)) return;
    keeper.log.warn({ recording_id: id }, 'an ended recording has no files to keep');
    await postpone(keeper, id, AGAIN.nothing);
  } catch (error) {
    keeper.log.warn({ err: error, recording_id: id }, 'the files of a recording are not looked after; tried again');
    await postpone(keeper, id, AGAIN.failed);
  }
};

/** Until nothing is due: what was looked after is so no more. One node at a time, so that none brings what another removes. */
const lookAfterAll = async (keeper: RecordingKeeper): Promise<void> => {
  if ((await due(keeper.db)).length === 0) return;
  await keeper.db.transaction(async trx => {
    await trx.raw('select pg_advisory_xact_lock(?)', [RECORDINGS_LOCK]);
    for (let rows = await due(keeper.db); rows.length > 0; rows = await due(keeper.db))
      for (const row of rows) await lookAfter(keeper, row);
  });
};

/** Makes stored files of the files of recordings that ended, and removes those of deleted ones. */
export const recordingSweep = (keeper: RecordingKeeper): Sweep =>
  new Sweep(() => lookAfterAll(keeper), 'files of recordings not looked after', keeper.log, LOOK_MS);

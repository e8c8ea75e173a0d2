import type { Log } from '#process/log';
import { timestamp } from '#contract/time';
import type { Db } from '../db.ts';
import { Sweep } from './sweep.ts';

const LOOK_MS = 1000;
const REASON = 'This installation has no embedding provider, so documents cannot be made searchable.';

/** Sources that wait to be read; without an embedding provider each ends with the reason. Resolves with how many. */
const ingestSources = (db: Db): Promise<number> =>
  db('rag_sources')
    .where({ status: 'pending' })
    .whereNull('tm_delete')
    .update({ status: 'error', status_message: REASON, tm_update: timestamp() });

/** Looks after new sources of knowledge bases (contact-centre 27.2); they wait until somebody has. */
export const ragSweep = (db: Db, log: Log): Sweep => {
  const work = async (): Promise<void> => {
    const failed = await ingestSources(db);
    if (failed > 0) log.warn({ failed }, REASON);
  };
  return new Sweep(work, 'sources of knowledge bases not looked at', log, LOOK_MS);
};

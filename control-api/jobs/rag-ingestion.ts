import type { Log } from '#process/log';
import { timestamp } from '#contract/time';
import type { Db } from '../db.ts';

const LOOK_MS = 1000;
const REASON = 'This installation has no embedding provider, so documents cannot be made searchable.';

/** Sources that wait to be read; without an embedding provider each ends with the reason. Resolves with how many. */
const ingestSources = (db: Db): Promise<number> =>
  db('rag_sources')
    .where({ status: 'pending' })
    .whereNull('tm_delete')
    .update({ status: 'error', status_message: REASON, tm_update: timestamp() });

/** Looks after new sources of knowledge bases (contact-centre 27.2). */
export const startRagIngestion = (db: Db, log: Log): { stop(): void } => {
  const look = (): void => {
    ingestSources(db)
      .then(failed => failed > 0 && log.warn({ failed }, REASON))
      // They still wait, and the next look finds them.
      .catch((error: unknown) => log.warn({ err: error }, 'sources of knowledge bases not looked at'));
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return { stop: () => clearInterval(timer) };
};

import type { Log } from '#process/log';
import type { Db } from '../db.ts';
import { removeExpiredFlows } from '../resources/flow-store.ts';

const HOUR_MS = 3_600_000;

/** Removes temporary flows whose day is over, now and every hour. */
export const startFlowExpiry = (db: Db, log: Log): { stop(): void } => {
  const sweep = (): void => {
    removeExpiredFlows(db)
      .then(removed => removed > 0 && log.info({ removed }, 'temporary flows expired'))
      // The next hour tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => log.warn({ err: error }, 'temporary flows not swept'));
  };
  sweep();
  const timer = setInterval(sweep, HOUR_MS).unref();
  return { stop: () => clearInterval(timer) };
};

import type { Log } from '#process/log';
import type { Db } from '../db.ts';
import { removeOldKeys } from '../http/idempotency.ts';

const HOUR_MS = 3_600_000;

/** Removes idempotency keys whose day is over, now and every hour. */
export const startKeyExpiry = (db: Db, log: Log): { stop(): void } => {
  const sweep = (): void => {
    removeOldKeys(db)
      .then(removed => removed > 0 && log.info({ removed }, 'idempotency keys expired'))
      // The next hour tries again; an old key counts as absent meanwhile.
      .catch((error: unknown) => log.warn({ err: error }, 'idempotency keys not swept'));
  };
  sweep();
  const timer = setInterval(sweep, HOUR_MS).unref();
  return { stop: () => clearInterval(timer) };
};

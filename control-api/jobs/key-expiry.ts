import type { Log } from '#process/log';
import type { Db } from '../db.ts';
import { removeOldKeys } from '../http/idempotency.ts';
import { Sweep } from './sweep.ts';

/** Removes idempotency keys whose day is over, every hour; an old one counts as absent meanwhile. */
export const keySweep = (db: Db, log: Log): Sweep => {
  const work = async (): Promise<void> => {
    const removed = await removeOldKeys(db);
    if (removed > 0) log.info({ removed }, 'idempotency keys expired');
  };
  return new Sweep(work, 'idempotency keys not swept', log);
};

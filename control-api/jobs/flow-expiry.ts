import type { Log } from '#process/log';
import type { Db } from '../db.ts';
import { removeExpiredFlows } from '../resources/flow-store.ts';
import { Sweep } from './sweep.ts';

/** Removes temporary flows whose day is over, every hour. */
export const flowSweep = (db: Db, log: Log): Sweep => {
  const work = async (): Promise<void> => {
    const removed = await removeExpiredFlows(db);
    if (removed > 0) log.info({ removed }, 'temporary flows expired');
  };
  return new Sweep(work, 'temporary flows not swept', log);
};

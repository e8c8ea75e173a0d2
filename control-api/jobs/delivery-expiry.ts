import type { Log } from '#process/log';
import type { Db } from '../db.ts';
import { Sweep } from './sweep.ts';

const DAY_MS = 86_400_000;
/** How long deliveries that arrived can be looked up. */
const KEPT_DAYS = 30;
/** Rows of one statement, so that no lock is held for long. */
const BATCH = 5000;

/**
 * Removes webhook deliveries that arrived 30 days ago, with their attempts; resolves with how many. Those that were given
 * up stay, because they can be sent again; so do the events themselves, which are the timeline (accounts-and-plumbing 29).
 */
export const removeOldDeliveries = async (db: Db): Promise<number> => {
  for (let removed = 0; ;) {
    const { rowCount } = await db.raw<{ rowCount: number }>(
      `delete from webhook_deliveries where id in (select id from webhook_deliveries
        where state = 'delivered' and tm_create < now() - ? * interval '1 day' limit ?)`,
      [KEPT_DAYS, BATCH],
    );
    removed += rowCount;
    if (rowCount < BATCH) return removed;
  }
};

/** Removes old deliveries, every day. */
export const deliverySweep = (db: Db, log: Log): Sweep => {
  const work = async (): Promise<void> => {
    const removed = await removeOldDeliveries(db);
    if (removed > 0) log.info({ removed }, 'old webhook deliveries removed');
  };
  return new Sweep(work, 'old webhook deliveries not swept', log, DAY_MS);
};

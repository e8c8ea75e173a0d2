import type { Redis } from 'ioredis';
import type { Log } from '#process/log';
import type { CarrierHealth } from '#contract/carrier';
import { keys } from '#contract/keys';
import type { Db } from '../db.ts';

const EVERY_MS = 5000;

interface Row {
  id: string;
  hostname: string;
  tm_delete: string | null;
}

/** Copies what media-app found about a provider to its row, where it is about the hostname it has now. */
const noteHealth = async (db: Db, redis: Redis): Promise<void> => {
  const rows = await db<Row>('providers').whereNull('tm_delete').select('id', 'hostname');
  if (rows.length === 0) return;
  const texts = await redis.mget(rows.map(row => keys.carrierHealth(row.id)));
  for (const [at, { id, hostname }] of rows.entries()) {
    const found = texts[at] ? (JSON.parse(texts[at]) as CarrierHealth) : undefined;
    if (found?.hostname !== hostname) continue;
    const { health_status, health_checked_at } = found;
    const changed = db('providers')
      .where({ id, hostname })
      .whereRaw('health_checked_at is distinct from ?', [health_checked_at]);
    await changed.update({ health_status, health_checked_at });
  }
};

/** Keeps `health_status` of providers as media-app finds it by OPTIONS (accounts-and-plumbing 22). */
export const startCarrierHealth = (db: Db, redis: Redis, log: Log): { stop(): void } => {
  let running = false;
  const look = (): void => {
    if (running) return;
    running = true;
    noteHealth(db, redis)
      // The next look tries again; routing does not depend on the rows.
      .catch((error: unknown) => log.debug({ err: error }, 'health of carriers not noted'))
      .finally(() => (running = false));
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
};

import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Db } from '../../control-api/db.ts';

/** A table or a key of Redis: a checksum of what it holds, and when it goes by itself (ms since the epoch, -1 never). */
interface Kept {
  sum: string;
  expires: number;
}

/** Everything that is stored, by name. */
export type Stored = Map<string, Kept>;

/** Kept keys of requests, and what BullMQ, limits and leases keep, are no change of anybody's data. */
const OWN_TABLES = ['idempotency_keys'];
const OWN_KEYS = /^(bull:|tl:limit:|tl:node)/;

const tables = async (db: Db): Promise<[string, Kept][]> => {
  const { rows: names } = await db.raw<{ rows: { name: string }[] }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  const sums = names
    .filter(({ name }) => !OWN_TABLES.includes(name))
    .map(
      ({ name }) =>
        `select '${name}' as name, md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as sum from ${name} t`,
    );
  const { rows } = await db.raw<{ rows: { name: string; sum: string }[] }>(sums.join(' union all '));
  return rows.map(({ name, sum }) => [`table ${name}`, { sum, expires: -1 }]);
};

const keys = async (redis: Redis): Promise<[string, Kept][]> => {
  const names = (await redis.keys('*')).filter(name => !OWN_KEYS.test(name));
  const kept = names.map(async (name): Promise<[string, Kept][]> => {
    const [expires, value] = await Promise.all([redis.pexpiretime(name), redis.dumpBuffer(name)]);
    // It expired since it was listed.
    return value ? [[`key ${name}`, { sum: createHash('md5').update(value).digest('hex'), expires }]] : [];
  });
  return (await Promise.all(kept)).flat();
};

/** Looks at all tables and all keys of Redis. */
export const storedNow = async (db: Db, redis: Redis): Promise<Stored> =>
  new Map([...(await tables(db)), ...(await keys(redis))]);

/** What came (+), went (-) or holds something else (~) at `now`, sorted. That a key's time was over is no change. */
export const changes = (before: Stored, after: Stored, now = Date.now()): string[] => {
  const expired = ({ expires }: Kept): boolean => expires >= 0 && expires <= now;
  const gone = [...before].filter(([name, kept]) => !after.has(name) && !expired(kept)).map(([name]) => `-${name}`);
  const come = [...after.keys()].filter(name => !before.has(name)).map(name => `+${name}`);
  const other = [...after]
    .filter(([name, { sum }]) => (before.get(name)?.sum ?? sum) !== sum)
    .map(([name]) => `~${name}`);
  return [...come, ...gone, ...other].sort();
};

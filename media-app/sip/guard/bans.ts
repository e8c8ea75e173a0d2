import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type Ban, type BanReason, sourceOf } from '#contract/ban';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { fromDate, timestamp } from '#contract/time';

/** How much a source may offend, and what follows. */
export interface Measure {
  /** Points within `window_ms` that ban. */
  limit: number;
  window_ms: number;
  /** The first ban of a day; each further one lasts twice as long, a day at most. */
  ban_ms: number;
}

/** An offence. `proven`: the source has shown that it hears our answers, so its address is not somebody else's. */
export interface Offence {
  reason: BanReason;
  points: number;
  proven: boolean;
  detail: string;
}

/** A phone that proved itself speaks for its address this long: as long as a registration may last. */
const KNOWN_MS = 7_200_000;
/** Behind the address of a known phone there may be a whole office. */
const KNOWN_FACTOR = 10;

/**
 * More bans are not made at a time: the address of a UDP message can be forged, and each ban is a few entries in Redis and
 * two events. What an operator bans is not counted out.
 */
export const MOST_BANS = 10_000;

type StrikeScript = (...args: (string | number)[]) => Promise<string | null>;

/** A ban as Redis holds it. */
type Stored = Omit<Ban, 'tm_expire'> & { ends_at: number };

const shown = ({ ends_at, ...ban }: Stored): Ban => ({ ...ban, tm_expire: fromDate(new Date(ends_at)) });

/** Bans of sources and what leads to them, in Redis: every node counts for all, and all obey. */
export class Bans {
  readonly #redis: Redis;
  readonly #measure: Measure;
  readonly #strike: StrikeScript;

  constructor(redis: Redis, measure: Measure) {
    this.#redis = redis;
    this.#measure = measure;
    const lua = readFileSync(new URL('./strike.lua', import.meta.url), 'utf8');
    redis.defineCommand('strike', { numberOfKeys: 6, lua });
    this.#strike = (redis as unknown as { strike: StrikeScript }).strike.bind(redis);
  }

  /** Counts an offence; the ban when it filled the measure. */
  async strike(address: string, offence: Offence): Promise<Ban | undefined> {
    const { limit, window_ms, ban_ms } = this.#measure;
    return this.#write(address, offence, { limit, window_ms, ban_ms });
  }

  /** Bans at once, for whoever runs the platform. */
  async add(address: string, detail: string, ban_ms: number): Promise<Ban | undefined> {
    const offence: Offence = { reason: 'manual', points: Infinity, proven: true, detail };
    return this.#write(address, offence, { limit: 1, window_ms: 1, ban_ms });
  }

  /** Lifts a ban; what it was, or undefined when there is none of this id. */
  async lift(id: string): Promise<Ban | undefined> {
    const ban = (await this.list()).find(one => one.id === id);
    if (ban) await this.#redis.del(keys.guardRecord(ban.source));
    return ban && (await this.#end(ban.source)) ? ban : undefined;
  }

  /** Ends the bans whose time has come; what they were. Of several nodes each ban goes to one. */
  async expire(now = Date.now()): Promise<Ban[]> {
    const over = await this.#redis.zrangebyscore(keys.banEnds, 0, now, 'LIMIT', 0, 1000);
    const ended: Ban[] = [];
    for (const source of over) {
      const text = await this.#redis.hget(keys.bans, source);
      if ((await this.#end(source)) && text) ended.push(shown(JSON.parse(text) as Stored));
    }
    return ended;
  }

  /** Every ban. */
  async list(): Promise<Ban[]> {
    return (await this.#redis.hvals(keys.bans)).map(text => shown(JSON.parse(text) as Stored));
  }

  /** The banned sources alone. */
  sources(): Promise<string[]> {
    return this.#redis.smembers(keys.bannedSources);
  }

  /** A phone there has proved itself: what cannot be proven against its address counts no more. */
  async know(address: string): Promise<void> {
    await this.#redis.set(keys.guardKnown(sourceOf(address)), '1', 'PX', KNOWN_MS);
  }

  /** What SIP servers could not read, by source, since the last look; of several nodes one gets it. */
  async takeMalformed(): Promise<[source: string, count: number][]> {
    const [seen] = (await this.#redis.multi().hgetall(keys.malformed).del(keys.malformed).exec()) ?? [];
    return Object.entries((seen?.[1] ?? {}) as Record<string, string>).map(([source, count]) => [
      source,
      Number(count),
    ]);
  }

  async #write(address: string, { points, proven, ...why }: Offence, measure: Measure): Promise<Ban | undefined> {
    const source = sourceOf(address);
    const ban = { id: newId(), source, reason: why.reason, detail: why.detail.slice(0, 200), tm_create: timestamp() };
    const names = [keys.guardPoints(source), keys.guardKnown(source), keys.bans, keys.banEnds, keys.bannedSources];
    const text = await this.#strike(
      ...names,
      keys.guardRecord(source),
      ...[source, Math.min(points, 1e9), measure.limit, measure.window_ms, measure.ban_ms, Date.now()],
      ...[proven ? 1 : 0, KNOWN_FACTOR, JSON.stringify(ban), why.reason === 'manual' ? 1e9 : MOST_BANS],
    );
    return text === null ? undefined : shown(JSON.parse(text) as Stored);
  }

  async #end(source: string): Promise<boolean> {
    const [removed] =
      (await this.#redis
        .multi()
        .hdel(keys.bans, source)
        .zrem(keys.banEnds, source)
        .srem(keys.bannedSources, source)
        .exec()) ?? [];
    return removed?.[1] === 1;
  }
}

import { askRedis } from '../redis-client.ts';
import { sourceOf } from './addresses.ts';
import type { SipLog } from './log.ts';

const LOOK_MS = 1000;
/** Of how many sources rubbish is counted between two looks. */
const MOST_SOURCES = 1000;
/** As media-app names them (contract/keys.ts): the set of banned sources, and what we could not read by source. */
const KEYS = { banned: 'tl:guard:banned', malformed: 'tl:guard:malformed' };

/**
 * Sources whose requests are dropped unanswered, read every second from a set in Redis, as drachtio-server reads its
 * blacklist. Back goes how many messages of each source could not be read. While Redis is away the last list stays good.
 */
export class BanList {
  readonly #url: URL;
  readonly #log: SipLog;
  #banned = new Set<string>();
  #malformed = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  /** Messages dropped so far. */
  dropped = 0;
  /** Called when sources were banned that were not before. */
  onBan: () => void = () => undefined;

  constructor(url: string, log: SipLog) {
    this.#url = new URL(url);
    this.#log = log;
  }

  /** Looks now and every second. */
  start(): void {
    void this.#look();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether what comes from there is banned, by its address or its network of IPv6. */
  has(address: string): boolean {
    return this.#banned.size > 0 && this.#banned.has(sourceOf(address));
  }

  /** True when a message from there is to be dropped. */
  drops(address: string): boolean {
    const banned = this.has(address);
    if (banned) this.dropped++;
    return banned;
  }

  /** A message from there could not be read. */
  countMalformed(address: string): void {
    const source = sourceOf(address);
    if (this.#malformed.size >= MOST_SOURCES && !this.#malformed.has(source)) return;
    this.#malformed.set(source, (this.#malformed.get(source) ?? 0) + 1);
  }

  #set(sources: string[]): void {
    const before = this.#banned;
    this.#banned = new Set(sources);
    if (sources.some(source => !before.has(source))) this.onBan();
  }

  async #look(): Promise<void> {
    this.#timer = setTimeout(() => void this.#look(), LOOK_MS).unref();
    const counted = [...this.#malformed];
    this.#malformed = new Map();
    const reports = counted.map(([source, count]) => ['HINCRBY', KEYS.malformed, source, String(count)]);
    try {
      const answers = await askRedis(this.#url, [...reports, ['SMEMBERS', KEYS.banned]]);
      this.#set((answers.at(-1) as string[] | undefined) ?? []);
    } catch (error) {
      this.#log.debug({ err: error }, 'the list of banned sources could not be read');
    }
  }
}

import type { BlockList } from 'node:net';
import { type Ban, type BanReason, sourceOf } from '#contract/ban';
import type { NoticeEventType } from '#contract/events';
import type { Directory } from '../../directory.ts';
import type { Log } from '#process/log';
import type { Notices } from '../../notices.ts';
import type { SipRequest } from '../srf.ts';
import { addressList, holds } from './addresses.ts';
import type { Bans } from './bans.ts';

/**
 * What an offence weighs, where 20 points within a minute ban (GUARD_LIMIT). So ten wrong passwords or unknown numbers in a
 * minute, a hundred requests without any credentials, or one message of a tool that does nothing but scan. A phone with
 * a wrong password that tries every 20 seconds stays below. An unknown user weighs what a wrong password does, or the
 * ban itself would tell them apart.
 */
const POINTS: Record<Exclude<BanReason, 'manual'>, number> = {
  bad_credentials: 2,
  probing: 0.2,
  unknown_destinations: 2,
  malformed_messages: 2,
  scanner: 1000,
};

/** How tools name themselves that look for open doors and nothing else. */
const SCANNERS = /friendly-(scanner|request)|sipvicious|sundayddr|sip-?scan|\biwar\b|pplsip|vaxsipuseragent|sipcli/i;

const LOOK_MS = 1000;
const TRUSTED_MS = 30_000;
/** How long we remember ourselves that phones speak for a source, and of how many. */
const KNOWN = { ms: 60_000, sources: 20_000 };

interface GuardParts {
  bans: Bans;
  directory: Pick<Directory, 'homeCustomer' | 'providerAddresses'>;
  notices: Pick<Notices, 'tell'>;
  /** Addresses and networks that are never banned, as in GUARD_ALLOW. */
  allowed: string;
  /** False: nothing is counted or dropped (GUARD_LIMIT=off). */
  on: boolean;
  log: Log;
}

/**
 * Keeps scanners, guessers and senders of rubbish away from the SIP side. Sources are counted by address over all nodes; who
 * fills the measure gets no answer for a while, from SIP servers that read the list nor from us. Providers' addresses
 * and GUARD_ALLOW are never banned. Addresses of UDP can be forged: what is not proven by a nonce that was given to that
 * very address counts nothing against an address where a phone proved itself lately, and ten times the measure is
 * needed there, because a whole office may stand behind it.
 */
export class Guard {
  readonly #parts: GuardParts;
  readonly #known = new Map<string, number>();
  #banned = new Set<string>();
  #trusted: BlockList;
  #trustedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#trusted = addressList(parts.allowed.split(','));
  }

  /** Reads the bans, and follows them from now on. */
  async start(): Promise<void> {
    if (!this.#parts.on) return;
    await this.#look();
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** True when the request comes from a banned source, or a scanner's tool: it must get no answer. */
  silences(request: SipRequest): boolean {
    if (!this.#parts.on) return false;
    if (this.#banned.has(sourceOf(request.source_address))) return true;
    const tool = SCANNERS.exec(request.get('user-agent')?.slice(0, 200) ?? '')?.[0];
    if (tool === undefined || this.#exempt(request.source_address)) return false;
    this.offend(request, 'scanner', `The tool ${tool} sent ${request.method}.`);
    return true;
  }

  /**
   * Counts an offence, without waiting: an answer must not take longer for one reason than for another.
   * @param proven whether the source has shown that it hears our answers
   */
  offend(request: SipRequest, reason: Exclude<BanReason, 'manual'>, detail: string, proven = false): void {
    this.#strike(request.source_address, reason, detail, proven, 1);
  }

  /** A phone at this source proved itself. */
  know(request: SipRequest): void {
    const source = sourceOf(request.source_address);
    if (!this.#parts.on || this.#exempt(request.source_address) || this.#isKnown(source)) return;
    if (this.#known.size >= KNOWN.sources) this.#known.clear();
    this.#known.set(source, Date.now() + KNOWN.ms);
    this.#parts.bans.know(source).catch((error: unknown) => this.#complain(error));
  }

  /** Bans a source for whoever runs the platform and asked by this request; undefined when it is banned already. */
  async ban(address: string, detail: string, durationMs: number, requestId: string): Promise<Ban | undefined> {
    const ban = await this.#parts.bans.add(address, detail, durationMs);
    if (ban) await this.#banHas(ban, 'ban_created', 'banned', requestId);
    return ban;
  }

  /** Lifts a ban for whoever asked by this request; undefined when there is none of this id. */
  async lift(id: string, requestId: string): Promise<Ban | undefined> {
    const ban = await this.#parts.bans.lift(id);
    if (ban) await this.#banHas(ban, 'ban_deleted', 'ban lifted', requestId);
    return ban;
  }

  #strike(address: string, reason: Exclude<BanReason, 'manual'>, detail: string, proven: boolean, times: number): void {
    if (!this.#parts.on || this.#exempt(address) || (!proven && this.#isKnown(sourceOf(address)))) return;
    this.#parts.bans
      .strike(address, { reason, points: POINTS[reason] * times, proven, detail })
      .then(ban => ban && this.#banHas(ban, 'ban_created', 'banned'))
      .catch((error: unknown) => this.#complain(error));
  }

  async #banHas(ban: Ban, event_type: NoticeEventType, what: string, requestId?: string): Promise<void> {
    if (event_type === 'ban_created') this.#banned.add(ban.source);
    else this.#banned.delete(ban.source);
    this.#parts.log.warn({ ban_id: ban.id, source: ban.source, reason: ban.reason, detail: ban.detail }, what);
    const home = await this.#parts.directory.homeCustomer();
    if (!home) return;
    const about = { customer_id: home.id, resource: 'ban', resource_id: ban.id } as const;
    await this.#parts.notices.tell({ ...about, event_type, data: { ...ban } }, requestId);
  }

  #isKnown(source: string): boolean {
    return (this.#known.get(source) ?? 0) > Date.now();
  }

  #exempt(address: string): boolean {
    return holds(this.#trusted, address);
  }

  /** What others banned, what is over, what SIP servers could not read, and whom providers' settings trust. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#trustProviders();
      for (const ban of await this.#parts.bans.expire()) await this.#banHas(ban, 'ban_deleted', 'ban over');
      for (const [source, count] of await this.#parts.bans.takeMalformed())
        this.#strike(source, 'malformed_messages', `${count} messages could not be read.`, false, count);
      this.#banned = new Set(await this.#parts.bans.sources());
    } catch (error) {
      this.#complain(error);
    } finally {
      this.#looking = false;
    }
  }

  async #trustProviders(): Promise<void> {
    if (Date.now() - this.#trustedAt < TRUSTED_MS) return;
    const { directory, allowed } = this.#parts;
    this.#trusted = addressList([...allowed.split(','), ...(await directory.providerAddresses())]);
    this.#trustedAt = Date.now();
  }

  /** Without Redis or Postgres nothing is counted: calls go on. */
  #complain(error: unknown): void {
    this.#parts.log.warn({ error: String(error) }, 'the guard cannot count');
  }
}

import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Notice, NoticeEventType } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import {
  liveContacts,
  registrationOf,
  shownContact,
  type Contact,
  type Registration,
  type UnregisterReason,
} from '#contract/registration';
import { timestamp } from '#contract/time';
import type { Log } from '#process/log';

/** What makes a binding the same one: the device and its way, else the URI. */
export const bindingOf = ({ uri, flow }: Pick<Contact, 'uri' | 'flow'>): string =>
  flow ? `${flow.instance};reg-id=${flow.reg_id}` : uri;

/** A connection of a phone to one of the SIP servers. */
export type Connection = Pick<Contact, 'source' | 'sip_server'>;

const connectionName = ({ source, sip_server }: Connection): string =>
  `${sip_server}/${source.transport}/${source.address}/${source.port}`;

/** A binding of an extension, as the sorted sets name it. */
export interface Bound {
  extension_id: string;
  binding: string;
}

const ID_LENGTH = 36;
/** The binding that a member of the sorted sets names. */
export const boundOf = (member: string): Bound => ({
  extension_id: member.slice(0, ID_LENGTH),
  binding: member.slice(ID_LENGTH + 1),
});
/** The name of a binding in the sorted sets: the id of the extension, a blank and the binding. */
export const memberOf = ({ extension_id, binding }: Bound): string => `${extension_id} ${binding}`;

/** What is to become of the contacts of an extension. */
export interface Edit {
  /** Bound or refreshed, all by one REGISTER. */
  save?: Contact[];
  drop?: { contact: Contact; reason: UnregisterReason }[];
  /** A phone of the extension spoke just now. */
  heard?: boolean;
  /** The API request that caused it. */
  request_id?: string;
}

/** Decides on the live contacts of an extension, oldest first. It may be asked again, when somebody was faster. */
export type Decide = (live: Contact[]) => Edit;

export const MAX_CONTACTS = 3;
/** How often a change is tried again that others came before; more than phones an extension may have. */
const TRIES = 20;
const EXPIRED_AT_ONCE = 500;

type ChangeScript = (...args: string[]) => Promise<number>;

/**
 * Registrations of extensions, in Redis, each contact with its own expiry (accounts-and-plumbing 19.2). Whatever comes or
 * goes is told in the script that writes it, so that state and events never differ.
 */
export class Contacts {
  readonly #redis: Redis;
  readonly #checkMs: number;
  readonly #log: Log;
  readonly #script: ChangeScript;

  /** @param checkMs about how long a contact is left alone before it is asked whether it is there */
  constructor(redis: Redis, checkMs: number, log: Log) {
    this.#redis = redis;
    this.#checkMs = checkMs;
    this.#log = log;
    const lua = readFileSync(new URL('./contacts.lua', import.meta.url), 'utf8');
    redis.defineCommand('changeContacts', { numberOfKeys: 8, lua });
    this.#script = (redis as unknown as { changeContacts: ChangeScript }).changeContacts.bind(redis);
  }

  /** The live contacts of an extension, oldest first. */
  async list(extensionId: string, now = Date.now()): Promise<Contact[]> {
    return liveContacts(await this.#redis.hvals(keys.contacts(extensionId)), now);
  }

  /**
   * Changes the contacts of an extension as `decide` says, takes away those that expired, and tells all of it. Resolves
   * with what is registered now, oldest first.
   */
  async change(extensionId: string, decide: Decide): Promise<Contact[]> {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const now = Date.now();
      const stored = await this.#redis.hgetall(keys.contacts(extensionId));
      const live = liveContacts(Object.values(stored), now);
      const { save = [], drop = [], heard = false, request_id = '' } = decide(live);
      const expired = Object.values(stored)
        .map(text => JSON.parse(text) as Contact)
        .filter(one => one.expires_at <= now);
      const gone = [...expired.map(contact => ({ contact, reason: 'expired' as const })), ...drop];
      if (save.length + gone.length === 0) return live;
      const after = this.#after(
        live,
        save,
        gone.map(({ contact }) => bindingOf(contact)),
      );
      const seen = heard ? now : Number(await this.#redis.hget(keys.extensionsSeen, extensionId));
      if (await this.#commit(extensionId, { stored, live, save, gone, after, heard, seen, request_id })) return after;
    }
    throw new Error('the contacts of the extension change too fast');
  }

  /** Adds contacts, all by one REGISTER; beyond `MAX_CONTACTS` the oldest give way. Resolves with what is registered now. */
  async save(extensionId: string, ...contacts: Contact[]): Promise<Contact[]> {
    return this.change(extensionId, live => ({ ...withRoom(live, contacts, []), heard: true }));
  }

  /** Takes away what was registered over a connection that is gone. Resolves with how many there were. */
  async removeLost(connection: Connection): Promise<number> {
    const name = connectionName(connection);
    const extensions = await this.#redis.smembers(keys.connection(name));
    let count = 0;
    for (const id of extensions) count += await this.#drop(id, 'connection_lost', one => connectionName(one) === name);
    await this.#redis.del(keys.connection(name));
    return count;
  }

  /** Takes away a contact if it is still the very one. */
  async remove(extensionId: string, contact: Contact, reason: UnregisterReason): Promise<boolean> {
    const same = (one: Contact) => JSON.stringify(one) === JSON.stringify(contact);
    return (await this.#drop(extensionId, reason, same)) > 0;
  }

  /** An extension that the API request deleted is registered nowhere, and was never seen. */
  async clear(extensionId: string, requestId = ''): Promise<void> {
    await this.#drop(extensionId, 'extension_deleted', () => true, requestId);
    await this.#redis.hdel(keys.extensionsSeen, extensionId);
  }

  /** Takes away what expired; of several nodes one tells it. Resolves with how many were due. */
  async expire(now = Date.now()): Promise<number> {
    const due = await this.#redis.zrangebyscore(keys.contactEnds, 0, now, 'LIMIT', 0, EXPIRED_AT_ONCE);
    const extensions = new Set(due.map(member => boundOf(member).extension_id));
    for (const id of extensions) await this.change(id, () => ({}));
    return due.length;
  }

  /** Notes that phones of extensions were heard of. */
  async seen(extensionIds: string[], now = Date.now()): Promise<void> {
    const pairs = extensionIds.flatMap(id => [id, String(now)]);
    if (pairs.length) await this.#redis.hset(keys.extensionsSeen, ...pairs);
  }

  async #drop(
    extensionId: string,
    reason: UnregisterReason,
    which: (one: Contact) => boolean,
    request_id = '',
  ): Promise<number> {
    let count = 0;
    await this.change(extensionId, live => {
      const drop = live.filter(which).map(contact => ({ contact, reason }));
      count = drop.length;
      return { drop, request_id };
    });
    return count;
  }

  #after(live: Contact[], save: Contact[], gone: string[]): Contact[] {
    const saved = new Map(save.map(one => [bindingOf(one), one]));
    const kept = live.filter(one => !gone.includes(bindingOf(one))).map(one => saved.get(bindingOf(one)) ?? one);
    return [...new Set([...kept, ...saved.values()])];
  }

  async #commit(
    extensionId: string,
    { stored, heard, ...settled }: Settled & { stored: Record<string, string>; heard: boolean },
  ): Promise<boolean> {
    const { save, gone, seen } = settled;
    const [first] = save;
    const change = {
      expected: stored,
      save: save.map(one => this.#toSave(one, Date.now())),
      drop: gone.map(({ contact }) => bindingOf(contact)),
      told: noticesOf(extensionId, settled).map(notice => JSON.stringify(notice)),
      seen: heard ? seen : 0,
      sip_server: first?.sip_server ?? '',
      connection_ends: first && first.source.transport !== 'udp' ? Math.max(...save.map(one => one.expires_at)) : 0,
    };
    const names = [
      keys.contacts(extensionId),
      keys.contactEnds,
      keys.contactChecks(first?.sip_server ?? ''),
      keys.connection(first ? connectionName(first) : ''),
      keys.contactServers,
      keys.extensionsSeen,
      keys.stream,
      keys.presence,
    ];
    if ((await this.#script(...names, extensionId, JSON.stringify(change))) !== 1) return false;
    for (const { contact, reason } of gone)
      this.#log.info(
        { extension_id: extensionId, contact: contact.uri, source: contact.source, reason },
        'a phone is not registered any more',
      );
    return true;
  }

  /** Those of one moment are not asked at one moment. */
  #toSave(contact: Contact, now: number): { binding: string; contact: string; ends: number; check: number } {
    const check = Math.round(now + this.#checkMs * (0.75 + Math.random() / 2));
    return { binding: bindingOf(contact), contact: JSON.stringify(contact), ends: contact.expires_at, check };
  }
}

/** What an edit comes to. */
interface Settled {
  live: Contact[];
  save: Contact[];
  gone: { contact: Contact; reason: UnregisterReason }[];
  after: Contact[];
  /** When a phone of the extension was heard of last. */
  seen: number;
  /** The API request that caused it, or empty. */
  request_id: string;
}

/** The contacts saved and dropped, and the oldest that must give way to them. */
export const withRoom = (live: Contact[], wanted: Contact[], drop: NonNullable<Edit['drop']>): Edit => {
  const save = [...new Map(wanted.map(one => [bindingOf(one), one])).values()].slice(-MAX_CONTACTS);
  const touched = new Set([...save, ...drop.map(({ contact }) => contact)].map(bindingOf));
  const others = live.filter(one => !touched.has(bindingOf(one)));
  const tooMany = others.slice(0, Math.max(0, others.length + save.length - MAX_CONTACTS));
  return { save, drop: [...drop, ...tooMany.map(contact => ({ contact, reason: 'replaced' as const }))] };
};

/** One event for each contact that came or went; a refreshed one tells nothing. */
const noticesOf = (extensionId: string, { live, save, gone, after, seen, request_id }: Settled): Notice[] => {
  const known = new Set(live.map(bindingOf));
  const registration = registrationOf(after, seen);
  const came = save
    .filter(one => !known.has(bindingOf(one)))
    .map(contact => notice('extension_registered', extensionId, contact, registration));
  const went = gone.map(({ contact, reason }) =>
    notice('extension_unregistered', extensionId, contact, { ...registration, reason }),
  );
  return [...went, ...came].map(one => ({ ...one, request_id }));
};

const notice = (
  event_type: NoticeEventType,
  extensionId: string,
  contact: Contact,
  facts: Registration & { reason?: UnregisterReason },
): Omit<Notice, 'request_id'> => ({
  kind: 'notice',
  id: newId(),
  customer_id: contact.customer_id,
  event_type,
  resource: 'extension',
  resource_id: extensionId,
  timestamp: timestamp(),
  data: { ...facts, contact: shownContact(contact) },
});

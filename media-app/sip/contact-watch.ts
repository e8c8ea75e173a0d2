import type { Redis } from 'ioredis';
import type { NodeReport } from '#contract/events';
import { keys } from '#contract/keys';
import type { Contact } from '#contract/registration';
import type { Log } from '#process/log';
import { type Bound, boundOf, type Contacts, memberOf } from './contacts.ts';
import { answersOptions } from './options.ts';
import type { SipServer, SipServers } from './servers.ts';
import { wayToContact } from './way-to-contact.ts';

const LOOK_MS = 1000;
/** What a node asks in a second at most, and how many questions it leaves open: whatever is due, phones come one after another. */
const A_SECOND = 200;
const OPEN_AT_MOST = 2000;
/** As long as a request over UDP is repeated (RFC 3261 section 17.1.2.2, timer F). */
const ANSWER_MS = 32_000;
/** How long no node may have a SIP server before what was registered over its connections is given up. */
const SERVER_GONE_MS = 20_000;

/** Hands out contacts that are due, and puts them off, so that of several nodes one asks each. */
const CLAIM = `
local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, ARGV[3])
for _, member in ipairs(due) do redis.call('ZADD', KEYS[1], ARGV[2], member) end
return due`;

interface Given {
  redis: Redis;
  contacts: Contacts;
  sip: SipServers;
  /** About how often a contact is asked; 0: never. */
  everyMs: number;
  serverGoneMs?: number;
  log: Log;
}

/** A contact that is due, as it is stored. */
type Due = Bound & { contact: Contact };

/**
 * Keeps registrations true when phones say nothing: those whose time is over, those that do not answer OPTIONS any more,
 * and those whose connection went down with its SIP server are taken away.
 */
export class ContactWatch {
  readonly #redis: Redis;
  readonly #contacts: Contacts;
  readonly #sip: SipServers;
  readonly #everyMs: number;
  readonly #serverGoneMs: number;
  readonly #log: Log;
  /** Since when SIP servers are missing everywhere. */
  readonly #missing = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #open = 0;

  constructor(given: Given) {
    this.#redis = given.redis;
    this.#contacts = given.contacts;
    this.#sip = given.sip;
    this.#everyMs = given.everyMs;
    this.#serverGoneMs = given.serverGoneMs ?? SERVER_GONE_MS;
    this.#log = given.log;
  }

  /** Asks the phones that are due, every second. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Asks no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#contacts.expire();
      for (const server of this.#sip.list) if (server.connected && this.#everyMs > 0) await this.#askDue(server);
      for (const name of await this.#redis.smembers(keys.contactServers)) await this.#lookAfter(name);
    } catch (error) {
      // The next look makes up for it.
      this.#log.warn({ error: String(error) }, 'registrations not looked after');
    } finally {
      this.#looking = false;
    }
  }

  async #askDue(server: SipServer): Promise<void> {
    const count = Math.min(A_SECOND, OPEN_AT_MOST - this.#open);
    if (count <= 0) return;
    const now = Date.now();
    const name = keys.contactChecks(server.address);
    const members = (await this.#redis.eval(CLAIM, 1, name, now, now + this.#everyMs, count)) as string[];
    for (const due of await this.#stored(server.address, members)) void this.#ask(server, due);
  }

  /** Those of the members that are registered still; the others are not due again. */
  async #stored(serverName: string, members: string[]): Promise<Due[]> {
    if (!members.length) return [];
    const read = this.#redis.pipeline();
    for (const { extension_id, binding } of members.map(boundOf)) read.hget(keys.contacts(extension_id), binding);
    const texts = ((await read.exec()) ?? []).map(([, text]) => text as string | null);
    const found = members.flatMap((member, at) => {
      const text = texts[at];
      const contact = text ? (JSON.parse(text) as Contact) : undefined;
      return contact && contact.sip_server === serverName ? [{ ...boundOf(member), contact }] : [];
    });
    const kept = new Set(found.map(memberOf));
    const gone = members.filter(member => !kept.has(member));
    if (gone.length) await this.#redis.zrem(keys.contactChecks(serverName), ...gone);
    return found;
  }

  async #ask(server: SipServer, { extension_id, contact }: Due): Promise<void> {
    this.#open++;
    try {
      const { uri, proxy, headers } = wayToContact(contact);
      const way = { headers, ...(proxy ? { proxy } : {}) };
      if (await answersOptions(server.srf, uri, way, Math.min(ANSWER_MS, this.#everyMs)))
        await this.#contacts.seen([extension_id]);
      else if (server.connected) await this.#contacts.remove(extension_id, contact, 'unreachable');
    } catch (error) {
      // It stays until it expires or is asked again.
      this.#log.warn({ extension_id, error: String(error) }, 'a registered phone not looked after');
    } finally {
      this.#open--;
    }
  }

  /** A SIP server that no living node has took its connections along; phones on UDP are asked through another. */
  async #lookAfter(name: string): Promise<void> {
    if (await this.#isSomewhere(name)) return void this.#missing.delete(name);
    const since = this.#missing.get(name) ?? Date.now();
    this.#missing.set(name, since);
    const heir = this.#sip.pick();
    if (Date.now() - since < this.#serverGoneMs || !heir) return;
    const members = await this.#redis.zrange(keys.contactChecks(name), '0', String(A_SECOND - 1));
    for (const due of await this.#stored(name, members)) await this.#inherit(due, heir);
    if (members.length) return;
    await this.#redis.srem(keys.contactServers, name);
    this.#missing.delete(name);
  }

  async #inherit({ extension_id, contact }: Due, heir: SipServer): Promise<void> {
    if (contact.source.transport !== 'udp') {
      await this.#contacts.remove(extension_id, contact, 'connection_lost');
      return;
    }
    await this.#contacts.change(extension_id, live => {
      const same = live.filter(one => JSON.stringify(one) === JSON.stringify(contact));
      return { save: same.map(one => ({ ...one, sip_server: heir.address })) };
    });
  }

  async #isSomewhere(name: string): Promise<boolean> {
    if (this.#sip.list.some(server => server.address === name && server.connected)) return true;
    const nodes = await this.#redis.smembers(keys.nodes);
    const reports = nodes.length ? await this.#redis.mget(nodes.map(node => keys.node(node))) : [];
    return reports.some(text => {
      const { sip_servers } = text ? (JSON.parse(text) as NodeReport) : { sip_servers: [] };
      return sip_servers.some(({ address, connected }) => connected && address === name);
    });
  }
}

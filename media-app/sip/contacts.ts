import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';
import type { Flow } from './bindings.ts';

/** Where one device of an extension can be reached. Times in milliseconds since the epoch. */
export interface Contact {
  uri: string;
  /** The device and its way, where the phone speaks outbound: one binding each (RFC 5626). */
  flow?: Flow;
  /** Edge proxies between, the first one next to us (RFC 3327); absent in older records. */
  path?: string[];
  /** The request's own source: the next hop when the contact's host is not where it came from. */
  source: { address: string; port: number; transport: string };
  /** The SIP server that received it: a TCP or WebSocket device is reached through that one only. */
  sip_server: string;
  user_agent: string;
  call_id: string;
  cseq: number;
  registered_at: number;
  expires_at: number;
}

/** What makes a binding the same one: the device and its way, else the URI. */
const fieldOf = ({ uri, flow }: Pick<Contact, 'uri' | 'flow'>): string =>
  flow ? `${flow.instance};reg-id=${flow.reg_id}` : uri;

/** A connection of a phone to one of the SIP servers. */
export type Connection = Pick<Contact, 'source' | 'sip_server'>;

const connectionName = ({ source, sip_server }: Connection): string =>
  `${sip_server}/${source.transport}/${source.address}/${source.port}`;

/** Deletes a field if it still says what was read: it may have been registered anew meanwhile. */
const DELETE_SAME = `if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0`;

export const MAX_CONTACTS = 3;

/** Registrations of extensions, in Redis, each contact with its own expiry (accounts-and-plumbing 19.2). */
export class Contacts {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** The live contacts of an extension, oldest first. */
  async list(extensionId: string, now = Date.now()): Promise<Contact[]> {
    const stored = await this.#redis.hvals(keys.contacts(extensionId));
    return stored
      .map(text => JSON.parse(text) as Contact)
      .filter(contact => contact.expires_at > now)
      .sort((a, b) => a.registered_at - b.registered_at);
  }

  /** Stores a contact; beyond `MAX_CONTACTS` the oldest give way. Resolves with what is registered now. */
  async save(extensionId: string, contact: Contact): Promise<Contact[]> {
    const others = (await this.list(extensionId)).filter(one => fieldOf(one) !== fieldOf(contact));
    const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_CONTACTS));
    const kept = [...others.slice(dropped.length), contact];
    const key = keys.contacts(extensionId);
    const write = this.#redis.multi().hset(key, fieldOf(contact), JSON.stringify(contact));
    if (dropped.length) write.hdel(key, ...dropped.map(fieldOf));
    if (contact.source.transport !== 'udp') {
      const connection = keys.connection(connectionName(contact));
      write.sadd(connection, extensionId).pexpireat(connection, contact.expires_at);
    }
    await write.pexpireat(key, Math.max(...kept.map(one => one.expires_at))).exec();
    return kept;
  }

  async remove(extensionId: string, binding: Pick<Contact, 'uri' | 'flow'>): Promise<Contact[]> {
    await this.#redis.hdel(keys.contacts(extensionId), fieldOf(binding));
    return this.list(extensionId);
  }

  /** Takes away those of `uris` that were registered over a connection that is gone. Resolves with how many there were. */
  async removeLost(connection: Connection, uris: string[]): Promise<number> {
    const name = connectionName(connection);
    const extensions = await this.#redis.smembers(keys.connection(name));
    const counts = await Promise.all(extensions.map(id => this.#removeLostOf(id, name, uris)));
    await this.#redis.del(keys.connection(name));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async #removeLostOf(extensionId: string, connection: string, uris: string[]): Promise<number> {
    const key = keys.contacts(extensionId);
    let count = 0;
    for (const [field, text] of Object.entries(await this.#redis.hgetall(key))) {
      const contact = JSON.parse(text) as Contact;
      if (connectionName(contact) === connection && uris.includes(contact.uri))
        count += Number(await this.#redis.eval(DELETE_SAME, 1, key, field, text));
    }
    return count;
  }

  async clear(extensionId: string): Promise<void> {
    await this.#redis.del(keys.contacts(extensionId));
  }
}

import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';

/** Where one device of an extension can be reached. Times in milliseconds since the epoch. */
export interface Contact {
  uri: string;
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
    const others = (await this.list(extensionId)).filter(one => one.uri !== contact.uri);
    const dropped = others.slice(0, Math.max(0, others.length + 1 - MAX_CONTACTS));
    const kept = [...others.slice(dropped.length), contact];
    const key = keys.contacts(extensionId);
    const write = this.#redis.multi().hset(key, contact.uri, JSON.stringify(contact));
    if (dropped.length) write.hdel(key, ...dropped.map(one => one.uri));
    await write.pexpireat(key, Math.max(...kept.map(one => one.expires_at))).exec();
    return kept;
  }

  async remove(extensionId: string, uri: string): Promise<Contact[]> {
    await this.#redis.hdel(keys.contacts(extensionId), uri);
    return this.list(extensionId);
  }

  async clear(extensionId: string): Promise<void> {
    await this.#redis.del(keys.contacts(extensionId));
  }
}

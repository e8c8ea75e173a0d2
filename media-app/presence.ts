import type { Redis } from 'ioredis';
import { type Address, extensionKey } from '#contract/address';
import type { Call } from '#contract/call';
import { keys } from '#contract/keys';
import { callMachine } from '#contract/machines/call';
import type { Extension } from './directory.ts';
import type { Log } from '#process/log';
import type { Contacts } from './sip/contacts.ts';
import type { BusyWith, Presence } from './sip/event-packages.ts';

/** No call lasts longer, so nobody is busy for ever with one whose end was not noted. */
const LONGEST_MS = 7_200_000;

/** The party of a call at our side of the phone. */
const phoneOf = ({ direction, source, destination }: Call): Address =>
  direction === 'incoming' ? source : destination;

/**
 * Which extensions are on the phone, over all nodes, and whoever wants to hear when that changes. What is noted here
 * follows the records of calls; those are the truth.
 */
export class Presences {
  readonly #redis: Redis;
  readonly #contacts: Contacts;
  readonly #log: Log;
  #ears: Redis | undefined;

  constructor(redis: Redis, contacts: Contacts, log: Log) {
    this.#redis = redis;
    this.#contacts = contacts;
    this.#log = log;
  }

  /** Notes the status of a call of an extension, without waiting. */
  note(call: Call): void {
    const party = phoneOf(call);
    if (party.type !== 'extension') return;
    const name = keys.busy(call.customer_id, extensionKey(party));
    const busy: BusyWith = { id: call.id, direction: call.direction, status: call.status };
    const write = this.#redis.pipeline();
    if (callMachine.isFinal(call.status)) write.hdel(name, call.id);
    else write.hset(name, call.id, JSON.stringify(busy)).pexpire(name, LONGEST_MS);
    write
      .publish(keys.presence, name)
      .exec()
      .catch((error: unknown) =>
        this.#log.warn({ call_id: call.id, error: String(error) }, 'not noted who is on the phone'),
      );
  }

  /** What there is to say about an extension now. */
  async of({ id, customer_id, extension, domain_name }: Extension): Promise<Presence> {
    const [contacts, ...busy] = await Promise.all([
      this.#contacts.list(id),
      ...[extension, id].map(key => this.#redis.hvals(keys.busy(customer_id, key))),
    ]);
    const calls = busy.flat().map(text => JSON.parse(text) as BusyWith);
    return { entity: `sip:${extension}@${domain_name}`, registered: contacts.length > 0, calls };
  }

  /** What is published when one of these extensions changes. */
  namesOf({ id, customer_id, extension }: Extension): string[] {
    return [keys.contacts(id), keys.busy(customer_id, extension), keys.busy(customer_id, id)];
  }

  /** Hears every change from now on, of whatever node. */
  async listen(changed: (name: string) => void): Promise<void> {
    this.#ears = this.#redis.duplicate();
    this.#ears.on('error', () => undefined); // the connection it was copied from complains already
    this.#ears.on('message', (_channel, name) => changed(name));
    await this.#ears.subscribe(keys.presence);
  }

  stop(): void {
    this.#ears?.disconnect();
  }
}

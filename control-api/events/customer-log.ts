import type { Knex } from 'knex';
import type { Log } from '#process/log';
import type { EventMessage } from '#contract/events';
import { lastSequences, readEvents } from './log.ts';

const BATCH = 200;

/** Takes the events of a customer in the order of their sequence; `text` is the message as it goes over the wire. */
export type Listener = (event: EventMessage, text: string) => void;

/** The end of one customer's log, followed once for all of that customer's connections in this process. */
export class CustomerLog {
  readonly customerId: string;
  /** Everything up to this sequence was handed to the listeners. */
  position: number;
  readonly listeners = new Set<Listener>();
  readonly #database: Knex;
  #reading = false;
  #again = false;

  constructor(given: { database: Knex; customerId: string; position: number }) {
    this.#database = given.database;
    this.customerId = given.customerId;
    this.position = given.position;
  }

  /** Reads what was added and hands it on. Safe to call at any time: calls during a read make it read once more. */
  async advance(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#read();
      }
    } finally {
      this.#reading = false;
    }
  }

  /** Events after a sequence, at most `BATCH`, for a client that resumes. */
  async after(sequence: number): Promise<EventMessage[]> {
    return readEvents(this.#database, this.customerId, sequence, BATCH);
  }

  async #read(): Promise<void> {
    const events = await this.after(this.position);
    for (const event of events) {
      this.position = event.sequence;
      const text = JSON.stringify(event);
      for (const listener of this.listeners) listener(event, text);
    }
    if (events.length === BATCH) this.#again = true;
  }
}

/** The logs somebody in this process listens to. */
export class CustomerLogs {
  readonly #database: Knex;
  readonly #log: Log;
  readonly #open = new Map<string, Promise<CustomerLog>>();

  constructor(given: { database: Knex; log: Log }) {
    this.#database = given.database;
    this.#log = given.log;
  }

  /** Adds a listener at the present end of a customer's log. */
  async listen(customerId: string, listener: Listener): Promise<CustomerLog> {
    for (;;) {
      const opening = this.#open.get(customerId) ?? this.#start(customerId);
      this.#open.set(customerId, opening);
      const log = await opening;
      // Its last listener may have left while we waited; then nobody would wake it any more.
      if (this.#open.get(customerId) !== opening) continue;
      log.listeners.add(listener);
      return log;
    }
  }

  /** Takes a listener away; once is enough, more does no harm. */
  leave(log: CustomerLog, listener: Listener): void {
    if (log.listeners.delete(listener) && log.listeners.size === 0) this.#open.delete(log.customerId);
  }

  /** The log of a customer grew, or any may have. */
  wake(customerId: string | undefined): void {
    const opened = customerId === undefined ? [...this.#open.values()] : [this.#open.get(customerId)];
    for (const opening of opened) if (opening) this.#advance(opening);
  }

  /** Looks whether a log grew without anybody telling us. */
  async poll(): Promise<void> {
    const ids = [...this.#open.keys()];
    if (ids.length === 0) return;
    const last = await lastSequences(this.#database, ids);
    for (const opening of [...this.#open.values()]) {
      const log = await opening;
      if ((last.get(log.customerId) ?? 0) > log.position) this.#advance(opening);
    }
  }

  async #start(customerId: string): Promise<CustomerLog> {
    try {
      const last = await lastSequences(this.#database, [customerId]);
      return new CustomerLog({ database: this.#database, customerId, position: last.get(customerId) ?? 0 });
    } catch (error) {
      this.#open.delete(customerId);
      throw error;
    }
  }

  #advance(opening: Promise<CustomerLog>): void {
    const advanced = opening.then(log => log.advance());
    advanced.catch((error: unknown) => this.#log.warn({ err: error }, 'the event log cannot be read; trying again'));
  }
}

import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { EventMessage } from '#contract/events';
import type { Identity } from '../http/authenticate.ts';
import type { CustomerLog, CustomerLogs } from './customer-log.ts';
import { keysOf, parseTopic, type Topic } from './topic.ts';

/** Close codes: RFC 6455 section 7.4.1. */
export const CLOSE = { going_away: 1001, policy: 1008, internal: 1011 } as const;
const MOST_TOPICS = 1000;

/** Bytes waiting for a client that reads slowly; beyond it events are dropped, and read again from the log later. */
const MOST_BUFFERED = 1024 * 1024;

const messageSchema = z.object({
  type: z.enum(['subscribe', 'unsubscribe']),
  topics: z.array(z.string()),
  after_sequence: z.int().min(0).optional(),
});
type ClientMessage = z.infer<typeof messageSchema>;

const parseMessage = (text: string): ClientMessage | undefined => {
  try {
    return messageSchema.safeParse(JSON.parse(text)).data;
  } catch {
    // Malformed JSON is ignored (accounts-and-plumbing 26.2).
    return undefined;
  }
};

/** Topic key → the sequence after which the topic is delivered. */
type Subscriptions = Map<string, number>;

const matches = (subscriptions: Subscriptions, event: EventMessage): boolean =>
  keysOf(event).some(key => (subscriptions.get(key) ?? Infinity) < event.sequence);

/** One WebSocket client: its topics, and the order and bounds of what it is sent (accounts-and-plumbing 26). */
export class Connection {
  readonly #socket: WebSocket;
  readonly #logs: CustomerLogs;
  readonly #opened = new Map<string, CustomerLog>();
  readonly #writeMs: number;
  /** Customers whose events do not go out live now, and up to which sequence they were sent before. */
  readonly #behind = new Map<string, number>();
  #identity: Identity;
  #subscriptions: Subscriptions = new Map();
  #work: Promise<void> = Promise.resolve();
  #heard = Date.now();

  readonly #take = (event: EventMessage, text: string): void => {
    const [, customerId = ''] = event.topic.split(':');
    if (this.#behind.has(customerId) || this.#isClosed || !matches(this.#subscriptions, event)) return;
    if (this.#socket.bufferedAmount > MOST_BUFFERED) this.#fallBehind(customerId, event.sequence - 1);
    else this.#socket.send(text);
  };

  /**
   * `own` is the log of the identity's customer, open already: what happens from now on is in reach. `write_ms` is how
   * long a client may take for one message.
   */
  constructor(given: {
    socket: WebSocket;
    identity: Identity;
    logs: CustomerLogs;
    own: CustomerLog;
    write_ms: number;
  }) {
    this.#socket = given.socket;
    this.#writeMs = given.write_ms;
    this.#identity = given.identity;
    this.#logs = given.logs;
    given.own.listeners.add(this.#take);
    this.#opened.set(given.own.customerId, given.own);
    this.#socket.on('message', (data: Buffer, isBinary) => this.#hear(isBinary ? undefined : data.toString()));
    this.#socket.on('pong', () => (this.#heard = Date.now()));
    this.#socket.on('close', () => this.#leave());
  }

  async #follow(customerId: string): Promise<CustomerLog> {
    const known = this.#opened.get(customerId);
    if (known) return known;
    const log = await this.#logs.listen(customerId, this.#take);
    this.#opened.set(customerId, log);
    if (this.#isClosed) this.#leave();
    return log;
  }

  /** Asks for a sign of life, or ends a connection that gave none for so many milliseconds. */
  checkAlive(silenceMs: number): void {
    if (Date.now() - this.#heard > silenceMs) this.#socket.terminate();
    else this.#socket.ping();
  }

  /** The identity as it is now; topics it may no longer hear end the connection. */
  updateIdentity(identity: Identity): void {
    this.#identity = identity;
    const refused = [...this.#subscriptions.keys()].some(key => parseTopic(key, identity) === undefined);
    if (refused) this.close(CLOSE.policy, 'permission changed');
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const impatience = setTimeout(() => this.#socket.terminate(), this.#writeMs);
    impatience.unref();
    this.#socket.once('close', () => clearTimeout(impatience));
  }

  get #isClosed(): boolean {
    return this.#socket.readyState !== this.#socket.OPEN && this.#socket.readyState !== this.#socket.CONNECTING;
  }

  #leave(): void {
    for (const log of this.#opened.values()) this.#logs.leave(log, this.#take);
    this.#opened.clear();
    this.#subscriptions.clear();
  }

  /** Messages are obeyed one after the other; while one is obeyed nothing more is read from the client. */
  #hear(text: string | undefined): void {
    this.#heard = Date.now();
    const message = text === undefined ? undefined : parseMessage(text);
    if (!message) return;
    this.#socket.pause();
    void this.#then(() => this.#obey(message)).then(() => this.#socket.resume());
  }

  /** Does one thing after the other; resolves when it is done. */
  #then(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work).catch(() => this.close(CLOSE.internal, 'the event log cannot be read'));
    return this.#work;
  }

  /** What a client is too slow for is dropped here and read again from the log, when it has taken what waits for it. */
  #fallBehind(customerId: string, sent: number): void {
    this.#behind.set(customerId, sent);
    void this.#then(async () => {
      const log = this.#opened.get(customerId);
      if (log && this.#behind.has(customerId)) await this.#replay(log, sent, new Map());
    });
  }

  async #obey(message: ClientMessage): Promise<void> {
    if (this.#isClosed) return;
    if (message.type === 'unsubscribe')
      return message.topics.forEach(topic => this.#subscriptions.delete(topic.toLowerCase()));
    const topics = message.topics.map(text => parseTopic(text, this.#identity)).filter(topic => topic !== undefined);
    if (topics.length < message.topics.length) return this.close(CLOSE.policy, 'a topic is invalid or not permitted');
    const all = new Set([...this.#subscriptions.keys(), ...topics.map(topic => topic.key)]);
    if (all.size > MOST_TOPICS) return this.close(CLOSE.policy, `more than ${MOST_TOPICS} topics`);
    for (const [customerId, keys] of byCustomer(topics))
      await this.#subscribe(await this.#follow(customerId), keys, message.after_sequence);
  }

  async #subscribe(log: CustomerLog, topics: string[], after: number | undefined): Promise<void> {
    if (this.#isClosed) return;
    const before = new Map(this.#subscriptions);
    const from = Math.min(after ?? log.position, log.position);
    for (const key of topics) this.#subscriptions.set(key, Math.min(from, before.get(key) ?? Infinity));
    if (from < log.position) await this.#replay(log, from, before);
  }

  /**
   * Sends what happened since `from`, at the pace of the client. Of what was sent live, the subscriptions of `before` have
   * delivered their share already; what is added meanwhile is read here too, so nothing is passed over or sent twice.
   */
  async #replay(log: CustomerLog, from: number, before: Subscriptions): Promise<void> {
    const sent = this.#behind.get(log.customerId) ?? log.position;
    this.#behind.set(log.customerId, sent);
    let position = Math.min(from, sent);
    try {
      while (position < log.position && !this.#isClosed) {
        const read = await log.after(position);
        // What the log has not handed to its listeners yet comes to us live, once we have caught up.
        const events = read.filter(event => event.sequence <= log.position);
        const fresh = events.filter(event => event.sequence > sent || !matches(before, event));
        for (const event of fresh) if (matches(this.#subscriptions, event)) await this.#write(JSON.stringify(event));
        position = events.at(-1)?.sequence ?? log.position;
      }
    } finally {
      this.#behind.delete(log.customerId);
    }
  }

  /** Resolves when the message has left, and all before it; a client that takes too long is given up. */
  async #write(text: string): Promise<void> {
    if (this.#isClosed) return;
    const impatience = setTimeout(() => this.#socket.terminate(), this.#writeMs);
    // A failed write means a closed socket, which the loop above sees.
    await new Promise<void>(resolve => this.#socket.send(text, () => resolve()));
    clearTimeout(impatience);
    this.#heard = Date.now();
  }
}

const byCustomer = (topics: Topic[]): Map<string, string[]> => {
  const grouped = new Map<string, string[]>();
  for (const { customer_id, key } of topics) grouped.set(customer_id, [...(grouped.get(customer_id) ?? []), key]);
  return grouped;
};

import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { EventMessage } from '#contract/events';
import type { Identity } from '../http/authenticate.ts';
import type { CustomerLog, CustomerLogs } from './customer-log.ts';
import { keysOf, parseTopic, type Topic } from './topic.ts';

/** Close codes: RFC 6455 section 7.4.1 and the IANA registry (1013). */
export const CLOSE = { going_away: 1001, policy: 1008, internal: 1011, too_slow: 1013 } as const;
export const MOST_TOPICS = 1000;

/** Bytes waiting for a client that does not read; beyond it the connection is closed. */
const MOST_BUFFERED = 1024 * 1024;
const WRITE_TIMEOUT_MS = 10_000;

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
  readonly #replaying = new Set<string>();
  #identity: Identity;
  #subscriptions: Subscriptions = new Map();
  #work: Promise<void> = Promise.resolve();
  #heard = Date.now();

  readonly #take = (event: EventMessage, text: string): void => {
    const [, customerId = ''] = event.topic.split(':');
    if (this.#replaying.has(customerId) || this.#isClosed || !matches(this.#subscriptions, event)) return;
    if (this.#socket.bufferedAmount > MOST_BUFFERED)
      return this.close(CLOSE.too_slow, 'too slow: resume with after_sequence');
    this.#socket.send(text);
  };

  /** `own` is the log of the identity's customer, open already: what happens from now on is in reach. */
  constructor(given: { socket: WebSocket; identity: Identity; logs: CustomerLogs; own: CustomerLog }) {
    this.#socket = given.socket;
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
    const impatience = setTimeout(() => this.#socket.terminate(), WRITE_TIMEOUT_MS);
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
    this.#work = this.#work
      .then(async () => this.#obey(message))
      .catch(() => this.close(CLOSE.internal, 'the event log cannot be read'))
      .then(() => this.#socket.resume());
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
    if (from === log.position) return;
    this.#replaying.add(log.customerId);
    try {
      await this.#replay(log, from, before);
    } finally {
      this.#replaying.delete(log.customerId);
    }
  }

  /**
   * Sends what happened since `from`, at the pace of the client. Up to the present end of the log the earlier
   * subscriptions have delivered their share already; what is added meanwhile is read here too, so nothing is passed
   * over or sent twice.
   */
  async #replay(log: CustomerLog, from: number, before: Subscriptions): Promise<void> {
    const joined = log.position;
    let position = from;
    while (position < log.position && !this.#isClosed) {
      const read = await log.after(position);
      // What the log has not handed to its listeners yet comes to us live, once we have caught up.
      const events = read.filter(event => event.sequence <= log.position);
      const fresh = events.filter(event => event.sequence > joined || !matches(before, event));
      const wanted = fresh.filter(event => matches(this.#subscriptions, event));
      await this.#sendAll(wanted.map(event => JSON.stringify(event)));
      position = events.at(-1)?.sequence ?? log.position;
    }
  }

  async #sendAll(texts: string[]): Promise<void> {
    if (texts.length === 0) return;
    const impatience = setTimeout(() => this.#socket.terminate(), WRITE_TIMEOUT_MS);
    // A failed write means a closed socket, which the loop above sees.
    await Promise.all(texts.map(text => new Promise<void>(resolve => this.#socket.send(text, () => resolve()))));
    clearTimeout(impatience);
    this.#heard = Date.now();
  }
}

const byCustomer = (topics: Topic[]): Map<string, string[]> => {
  const grouped = new Map<string, string[]>();
  for (const { customer_id, key } of topics) grouped.set(customer_id, [...(grouped.get(customer_id) ?? []), key]);
  return grouped;
};

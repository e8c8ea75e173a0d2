import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { Log } from '#process/log';
import {
  commands,
  type Command,
  type CommandBody,
  type CommandName,
  type CommandReply,
  type CommandResult,
} from '#contract/commands';
import { PlatformError, REASONS } from '#contract/errors';
import { newId } from '#contract/ids';
import { isReply, keys, queues } from '#contract/keys';

/** How long a request waits for the answer of media-app, in milliseconds. */
const WAIT_MS = 10_000;

/** Given up after this many queues of single nodes are open; the oldest is closed first. */
const OPEN_QUEUES = 256;

export interface CommandOptions<N extends CommandName> {
  customer_id: string;
  request_id: string;
  body: CommandBody<N>;
  /** Node id of the record's owner; required by commands whose catalogue entry says `to: 'owner'`. */
  owner?: string;
  /** How long to wait for the answer; 10 000 by default. */
  wait_ms?: number;
  /** Command id, to repeat a command whose fate is unknown: the same id is one job and is never obeyed twice. */
  id?: string;
}

interface Waiting {
  resolve(result: never): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const JOB_OPTIONS = {
  /** Tries of a job whose media-app died over it; one that must not be obeyed twice is refused then. */
  attempts: 3,
  backoff: { type: 'fixed', delay: 250 },
  removeOnComplete: { age: 3600, count: 1000 },
  removeOnFail: { age: 86_400, count: 1000 },
} as const;

const refusal = (reply: CommandReply & { ok: false }): PlatformError =>
  new PlatformError(reply.reason in REASONS ? reply.reason : 'INTERNAL', reply.message);

/**
 * The only writer of media commands. A command becomes a BullMQ job whose id is the command's; its answer comes back on
 * one Redis channel that is subscribed before the first command leaves.
 */
export class Commands {
  readonly #redis: Redis;
  readonly #replies: Redis;
  readonly #log: Log;
  readonly #apiId = newId();
  readonly #queues = new Map<string, Queue>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #subscribed: Promise<unknown>;

  constructor(given: { redisUrl: string; log: Log }) {
    this.#log = given.log;
    this.#redis = this.#connect(given.redisUrl);
    this.#replies = this.#connect(given.redisUrl);
    this.#replies.on('message', (_channel, text) => this.#answer(text));
    this.#subscribed = this.#replies.subscribe(keys.replies(this.#apiId));
    this.#subscribed.catch((error: unknown) => this.#log.warn({ err: error }, 'replies of media-app cannot be heard'));
    this.#queue(queues.media);
  }

  /**
   * Gives an order and waits for its result.
   * @throws PlatformError with the reason of the reply; REQUEST_TIMEOUT when no answer came in time
   */
  async send<N extends CommandName>(name: N, given: CommandOptions<N>): Promise<CommandResult<N>> {
    const command = this.#command(name, given, this.#apiId);
    const queue = this.#queue(this.#target(name, given.owner));
    const answer = this.#expect<N>(command, queue, given.wait_ms ?? WAIT_MS);
    const added = command.once ? this.#addOnce(queue, command) : this.#add(queue, command);
    added.catch((error: unknown) => this.#fail(command.id, error));
    return answer;
  }

  /** Gives an order whose result nobody needs; settles when the order lies in the queue. */
  async tell<N extends CommandName>(name: N, given: CommandOptions<N>): Promise<void> {
    const command = this.#command(name, given, null);
    await this.#add(this.#queue(this.#target(name, given.owner)), command);
  }

  /** Rejects whoever still waits and closes the connections. */
  async close(): Promise<void> {
    for (const id of [...this.#waiting.keys()])
      this.#settle(id)?.reject(new PlatformError('REQUEST_CANCELED', 'The server is shutting down.'));
    await Promise.allSettled([...this.#queues.values()].map(async queue => queue.close()));
    this.#redis.disconnect();
    this.#replies.disconnect();
  }

  #connect(url: string): Redis {
    const redis = new Redis(url, { maxRetriesPerRequest: null });
    redis.on('error', (error: Error) => this.#log.warn({ err: error }, 'redis connection of the commands failed'));
    return redis;
  }

  #command<N extends CommandName>(name: N, given: CommandOptions<N>, replyTo: string | null): Command<N> {
    const body = commands[name].body.parse(given.body) as CommandBody<N>;
    const { customer_id, request_id, id = newId() } = given;
    const once = given.id === undefined ? {} : { once: true };
    return { name, id, customer_id, request_id, issued_at: Date.now(), reply_to: replyTo, ...once, body };
  }

  #target(name: CommandName, owner: string | undefined): string {
    if (commands[name].to === 'any') return queues.media;
    if (!owner) throw new PlatformError('INTERNAL', `Command ${name} needs the node that owns the record.`);
    return queues.node(owner);
  }

  #queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new Queue(name, { connection: this.#redis, skipMetasUpdate: true });
    queue.on('error', error => this.#log.warn({ err: error, queue: name }, 'command queue failed'));
    this.#queues.set(name, queue);
    this.#forgetOldest();
    return queue;
  }

  #forgetOldest(): void {
    const oldest = [...this.#queues.keys()].find(name => name !== queues.media);
    if (this.#queues.size <= OPEN_QUEUES || oldest === undefined) return;
    this.#queues
      .get(oldest)
      ?.close()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'queue not closed'));
    this.#queues.delete(oldest);
  }

  async #add(queue: Queue, command: Command): Promise<void> {
    await this.#subscribed;
    await queue.add(command.name, command, { ...JOB_OPTIONS, jobId: command.id });
  }

  /**
   * Adds a command that may have been given before. What media-app took is not given again: its reply is kept, or still
   * to come. What it did not take in time lies in the queue as refused, and makes room for another try.
   */
  async #addOnce(queue: Queue, command: Command): Promise<void> {
    const kept = await this.#redis.get(keys.obeyed(command.id));
    if (isReply(kept)) this.#answer(kept);
    if (kept !== null) return;
    // A job that is being worked on is locked and stays: then it is the very command we would add.
    await queue.remove(command.id).catch((error: unknown) => this.#log.debug({ err: error }, 'command is at work'));
    await this.#add(queue, command);
  }

  #expect<N extends CommandName>(command: Command<N>, queue: Queue, waitMs: number): Promise<CommandResult<N>> {
    this.#settle(command.id)?.reject(new PlatformError('REQUEST_CANCELED', 'The same command was sent again.'));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#expire(command, queue), waitMs);
      this.#waiting.set(command.id, { resolve, reject, timer });
    });
  }

  /** Nobody waits any more: an order that no media-app took is withdrawn, so that it is not obeyed behind the caller's back. */
  #expire(command: Command, queue: Queue): void {
    const text = `No answer to ${command.name} in time.`;
    this.#settle(command.id)?.reject(new PlatformError('REQUEST_TIMEOUT', text));
    queue.remove(command.id).catch((error: unknown) =>
      // A job that is being worked on is locked and stays: media-app obeys it or refuses it by its age.
      this.#log.info({ err: error, command_id: command.id }, 'command not withdrawn'),
    );
  }

  #settle(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting) clearTimeout(waiting.timer);
    this.#waiting.delete(id);
    return waiting;
  }

  #fail(id: string, error: unknown): void {
    this.#log.error({ err: error, command_id: id }, 'command not queued');
    this.#settle(id)?.reject(new PlatformError('SERVICE_UNAVAILABLE', 'The media side cannot be reached.'));
  }

  #answer(text: string): void {
    const reply = this.#parse(text);
    const waiting = reply && this.#settle(reply.command_id);
    if (!waiting) return;
    if (reply.ok) waiting.resolve(reply.result as never);
    else waiting.reject(refusal(reply));
  }

  #parse(text: string): CommandReply | undefined {
    try {
      return JSON.parse(text) as CommandReply;
    } catch (error) {
      // Whoever waits for it gets REQUEST_TIMEOUT; the channel must stay alive for the others.
      this.#log.error({ err: error }, 'reply of media-app is not JSON');
      return undefined;
    }
  }
}

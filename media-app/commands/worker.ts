import { type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type Command, type CommandName, type CommandReply, commands } from '#contract/commands';
import { PlatformError, type Reason } from '#contract/errors';
import { newId } from '#contract/ids';
import { isReply, keys, OBEYED_TTL_S, queues } from '#contract/keys';
import type { Log } from '#process/log';
import type { Services } from '../services.ts';
import { handlers } from './index.ts';

/** Commands obeyed at a time; each is short, since a call goes on without its command. */
const CONCURRENCY = 64;

/**
 * The only reader of the media queues: the shared one and this node's own. A command is obeyed at most once, however
 * often it is delivered, and not at all when it is older than its catalogue entry allows.
 */
export class CommandWorker {
  readonly #services: Services;
  readonly #redis: Redis;
  readonly #log: Log;
  readonly #connections: Redis[] = [];
  readonly #workers: Worker<Command>[];

  constructor(services: Services, redis: Redis, redisUrl: string) {
    this.#services = services;
    this.#redis = redis;
    this.#log = services.log;
    this.#workers = [queues.media, queues.node(services.store.node)].map(name => this.#worker(name, redisUrl));
  }

  /** Starts taking commands. */
  start(): void {
    for (const worker of this.#workers)
      worker.run().catch((error: unknown) => this.#log.error({ error: String(error) }, 'a command queue broke'));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.close()));
    this.#connections.forEach(connection => connection.disconnect());
  }

  #worker(name: string, redisUrl: string): Worker<Command> {
    const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
    this.#connections.push(connection);
    connection.on('error', () => undefined); // told by the worker
    const worker = new Worker<Command>(name, job => this.#take(job), {
      connection,
      concurrency: CONCURRENCY,
      autorun: false,
    });
    worker.on('error', error =>
      this.#log.warn({ queue: name, error: error.message }, 'the command queue is out of reach'),
    );
    return worker;
  }

  async #take(job: Job<Command>): Promise<void> {
    const command = job.data;
    // BullMQ counts deliveries in the very script that hands a job out, so a second one is known for what it is.
    if (job.attemptsStarted > 1 && !commands[command.name].repeatable)
      return this.#log.warn({ command: command.name, command_id: command.id }, 'a command came twice; obeyed once');
    const late = Date.now() - command.issued_at > commands[command.name].ttl_ms;
    if (command.once && !late) return this.#obeyOnce(command);
    await this.#reply(command, await this.#obey(command));
  }

  /** Whatever becomes of its job, a `once` command is obeyed by whoever marks it first; others repeat that one's reply. */
  async #obeyOnce(command: Command): Promise<void> {
    const key = keys.obeyed(command.id);
    if (await this.#isFirst(key)) {
      const reply = await this.#obey(command);
      await this.#redis.set(key, JSON.stringify(reply), 'EX', OBEYED_TTL_S);
      return this.#reply(command, reply);
    }
    const kept = await this.#redis.get(key);
    if (isReply(kept)) return this.#reply(command, JSON.parse(kept) as CommandReply);
    this.#log.warn({ command: command.name, command_id: command.id }, 'a command came twice; obeyed once');
  }

  /** Marks a command as obeyed. A mark that was sent again, because its answer was lost, is known as our own. */
  async #isFirst(key: string): Promise<boolean> {
    const mark = newId();
    return (
      (await this.#redis.set(key, mark, 'EX', OBEYED_TTL_S, 'NX')) !== null || (await this.#redis.get(key)) === mark
    );
  }

  async #obey<N extends CommandName>(command: Command<N>): Promise<CommandReply<N>> {
    const { id: command_id, name, customer_id, request_id } = command;
    try {
      const late = Date.now() - command.issued_at > commands[name].ttl_ms;
      if (late) throw new PlatformError('REQUEST_TIMEOUT', `The command ${name} is too old to be obeyed.`);
      const result = await handlers[name](this.#services, command.body, { customer_id, request_id });
      return { command_id, ok: true, result };
    } catch (error) {
      const reason: Reason = error instanceof PlatformError ? error.reason : 'INTERNAL';
      if (reason === 'INTERNAL')
        this.#log.error({ command: name, request_id, error: String(error) }, 'a command failed');
      return {
        command_id,
        ok: false,
        reason,
        message: error instanceof PlatformError ? error.message : 'The command failed.',
      };
    }
  }

  async #reply(command: Command, reply: CommandReply): Promise<void> {
    if (command.reply_to) await this.#redis.publish(keys.replies(command.reply_to), JSON.stringify(reply));
  }
}

import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Command, CommandReply } from '#contract/commands';
import { keys, queues } from '#contract/keys';

/** Stands where media-app stands: takes commands off the real queues and answers as told. */
export class Consumer {
  readonly taken: Command[] = [];
  readonly redis: Redis;
  readonly #workers: Worker[];
  answer: (command: Command) => CommandReply | undefined = () => undefined;

  constructor(url: string, node: string) {
    this.redis = new Redis(url);
    this.#workers = [queues.media, queues.node(node)].map(
      queue =>
        new Worker<Command>(queue, async ({ data }) => this.#take(data), {
          connection: { url, maxRetriesPerRequest: null },
        }),
    );
  }

  async #take(command: Command): Promise<void> {
    this.taken.push(command);
    const reply = this.answer(command);
    if (reply && command.reply_to) await this.redis.publish(keys.replies(command.reply_to), JSON.stringify(reply));
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.close()));
    this.redis.disconnect();
  }
}

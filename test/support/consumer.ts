import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Command, CommandReply } from '#contract/commands';
import { keys, queues } from '#contract/keys';
import { startTestApi, type TestApi } from './api.ts';

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

/**
 * Starts control-api for the tests of a describe, with a consumer in place of the media-app `node`; what that one took is
 * forgotten before each test.
 */
export const withConsumer = (node: string, opened: (api: TestApi, consumer: Consumer) => void): void => {
  let api: TestApi;
  let consumer: Consumer;
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi();
    consumer = new Consumer(api.redisUrl, node);
    opened(api, consumer);
  });
  beforeEach(() => void (consumer.taken.length = 0));
  after(async () => {
    await consumer.close();
    await api.stop();
  });
};

import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { Command, CommandReply } from '#contract/commands';
import type { LiveRecord, LiveResources } from '#contract/events';
import { keys, queues, type LiveKind } from '#contract/keys';
import { apiOfTests, type TestApi } from './api.ts';

/** The media-app that a `Consumer` is. */
export const NODE = 'node-of-the-test';

/** The states in which nothing more can happen to a thing. */
const FINAL = ['hangup', 'terminated', 'leaved'];

/** Stands where media-app stands: takes commands off the real queues and answers as told. */
export class Consumer {
  readonly taken: Command[] = [];
  readonly redis: Redis;
  readonly #workers: Worker[];
  answer: (command: Command) => CommandReply | undefined = () => undefined;

  constructor(url: string) {
    this.redis = new Redis(url);
    this.#workers = [queues.media, queues.node(NODE)].map(
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

  /** Has a thing in hand: its live record is as media-app would have written it. */
  async holds<K extends LiveKind>(kind: K, data: LiveResources[K] & { status: string }): Promise<void> {
    const final = FINAL.includes(data.status);
    const record: LiveRecord<K> = { kind, version: 1, owner: NODE, final, data, internal: {} };
    await this.redis.set(keys.live(kind, data.id), JSON.stringify(record));
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map(worker => worker.close()));
    this.redis.disconnect();
  }
}

/**
 * Starts control-api for the tests of a describe, with a consumer in place of media-app; what that one took is forgotten before
 * each test.
 */
export const withConsumer = (opened: (api: TestApi, consumer: Consumer) => void): void => {
  const api = apiOfTests();
  let consumer: Consumer;
  before(() => opened(api, (consumer = new Consumer(api.redisUrl))));
  beforeEach(() => void (consumer.taken.length = 0));
  after(() => consumer?.close());
};

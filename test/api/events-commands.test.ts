import { strict as assert } from 'node:assert';
import { Worker, type Job } from 'bullmq';
import { Redis } from 'ioredis';
import type { Command, CommandReply } from '#contract/commands';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import { keys, queues } from '#contract/keys';
import { Commands } from '../../control-api/commands.ts';
import { aCall, eventually, openRig, type EventRig } from './events-rig.ts';

describe('commands to media-app', function () {
  this.timeout(20_000);
  let rig: EventRig;
  let commands: Commands;
  let workers: Worker[] = [];

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    commands = new Commands(rig);
  });
  afterEach(async () => {
    await Promise.all(workers.map(worker => worker.close()));
    workers = [];
  });
  after(async () => {
    await commands.close();
    await rig.close();
  });

  /** A consumer of one queue that answers what `answer` returns, or nothing when that is undefined. */
  const consume = (
    queue: string,
    answer: (command: Command) => Omit<CommandReply, 'command_id'> | undefined,
  ): Command[] => {
    const taken: Command[] = [];
    const process = async (job: Job<Command>): Promise<void> => {
      taken.push(job.data);
      const reply = answer(job.data);
      const channel = keys.replies(job.data.reply_to ?? '');
      if (reply) await rig.redis.publish(channel, JSON.stringify({ command_id: job.data.id, ...reply }));
    };
    const connection = new Redis(rig.redisUrl, { maxRetriesPerRequest: null });
    const worker = new Worker<Command>(queue, process, { connection, concurrency: 8 });
    worker.on('closed', () => connection.disconnect());
    workers.push(worker);
    return taken;
  };
  const customer_id = newId();
  const hangup = (given: { owner?: string; wait_ms?: number; id?: string; call_id?: string } = {}) =>
    commands.send('call.hangup', {
      customer_id,
      request_id: 'req_1',
      owner: 'node-1',
      ...given,
      body: { call_id: given.call_id ?? newId() },
    });
  const rejectsWith = (reason: string) => (error: unknown) => error instanceof PlatformError && error.reason === reason;

  it('brings the result of the node that owns the call back to whoever asked', async () => {
    const call = aCall(customer_id);
    const taken = consume(queues.node('node-1'), () => ({ ok: true, result: call }));
    assert.deepEqual(await hangup({ call_id: call.id }), call);
    const [command] = taken;
    assert.deepEqual(
      [command?.name, command?.request_id, command?.body],
      ['call.hangup', 'req_1', { call_id: call.id }],
    );
    assert.ok(Math.abs(Date.now() - (command?.issued_at ?? 0)) < 5000);
  });

  it('gives each of fifty callers at once the answer to its own command', async () => {
    consume(queues.node('node-1'), command => ({ ok: true, result: command.body as never }));
    const ids = Array.from({ length: 50 }, () => newId());
    const results = await Promise.all(ids.map(call_id => hangup({ call_id })));
    assert.deepEqual(
      results.map(result => (result as unknown as { call_id: string }).call_id),
      ids,
    );
  });

  it('rejects with the reason that media-app gave', async () => {
    consume(queues.node('node-1'), () => ({ ok: false, reason: 'CALL_ALREADY_HANGUP', message: 'It has ended.' }));
    await assert.rejects(hangup(), rejectsWith('CALL_ALREADY_HANGUP'));
  });

  it('answers REQUEST_TIMEOUT when no media-app takes the command, and withdraws it', async () => {
    await assert.rejects(hangup({ owner: 'gone', wait_ms: 150 }), rejectsWith('REQUEST_TIMEOUT'));
    const waiting = async (): Promise<number> => rig.redis.llen(`bull:${queues.node('gone')}:wait`);
    await eventually('it left the queue', async () => (await waiting()) === 0);
    const taken = consume(queues.node('gone'), () => undefined);
    await workers[0]?.waitUntilReady();
    assert.deepEqual(taken, []);
  });

  it('queues a command that is sent twice under one id once', async () => {
    const id = newId();
    await Promise.all([
      assert.rejects(hangup({ owner: 'busy', wait_ms: 200, id }), rejectsWith('REQUEST_TIMEOUT')),
      commands.tell('call.hangup', { customer_id, request_id: '', owner: 'busy', id, body: { call_id: newId() } }),
      eventually('it is queued', async () => (await rig.redis.llen(`bull:${queues.node('busy')}:wait`)) === 1),
    ]);
  });

  it('puts an order that nobody waits for in the shared queue', async () => {
    const taken = consume(queues.media, () => undefined);
    const body = { extension_id: newId() };
    await commands.tell('extension.unregister', { customer_id, request_id: '', body });
    await eventually('it is taken', () => taken.length === 1);
    assert.deepEqual([taken[0]?.reply_to, taken[0]?.body], [null, body]);
  });

  it('goes on after a reply that is no JSON', async () => {
    consume(queues.node('node-1'), command => {
      void rig.redis.publish(keys.replies(command.reply_to ?? ''), '{');
      return { ok: true, result: aCall(customer_id) };
    });
    assert.equal((await hangup()).customer_id, customer_id);
  });

  it('refuses an order to an owner that nobody named, and every waiting caller when it closes', async () => {
    await assert.rejects(hangup({ owner: '' }), rejectsWith('INTERNAL'));
    const other = new Commands(rig);
    const given = { customer_id, request_id: '', owner: 'nobody', body: { call_id: newId() } };
    const refused = assert.rejects(other.send('call.hangup', given), rejectsWith('REQUEST_CANCELED'));
    await other.close();
    await refused;
  });
});

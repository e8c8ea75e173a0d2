import { writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { EventMessage } from '#contract/events';
import { MESSAGE_COLUMNS } from '../../control-api/events/log.ts';
import { type Stack, type StackProcess, startStack } from '../../test/support/stack.ts';
import { Storm } from './storm.ts';
import { faultsOf } from './verdict.ts';
import { Receiver, ResumingClient } from './witnesses.ts';

const WRITES_PER_SECOND = 50;
/** How long the storm blows between two kills, at least and at most, in milliseconds. */
const CALM_MS = [200, 800] as const;
/** How long everything may take to arrive after the storm: webhooks wait for their next try. */
const ARRIVAL_MS = 240_000;

export const VICTIMS = ['control-api', 'redis', 'postgres'] as const;
export type Victim = (typeof VICTIMS)[number];

const processOf = ({ processes, stores }: Stack, victim: Victim): StackProcess => {
  const found = { 'control-api': processes.controlApi, redis: stores.redis, postgres: stores.postgres }[victim];
  if (!found) throw new Error(`the stack has no ${victim} of its own`);
  return found;
};

const query = async <T extends pg.QueryResultRow>(stack: Stack, sql: string, values: unknown[] = []): Promise<T[]> => {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  return client
    .query<T>(sql, values)
    .then(
      ({ rows }) => rows,
      error => Promise.reject(error as Error),
    )
    .finally(() => client.end());
};

const logAfter = (stack: Stack, sequence: number): Promise<EventMessage[]> =>
  query<EventMessage & pg.QueryResultRow>(
    stack,
    `select ${MESSAGE_COLUMNS} from events e where customer_id = $1 and e.sequence > $2 order by e.sequence`,
    [stack.welcome.customer_id, sequence],
  );

const lastSequence = async (stack: Stack): Promise<number> => {
  const [row] = await query<{ last: string }>(stack, 'select last from event_sequences where customer_id = $1', [
    stack.welcome.customer_id,
  ]);
  return Number(row?.last ?? 0);
};

/** What a storm with kills in it came to. */
export interface Report {
  /** Broken promises; none is what we want. */
  faults: string[];
  kills: Record<Victim, number>;
  /** Writes that clients began. */
  asked: number;
  acknowledged: number;
  refused: number;
  events: number;
  connections: number;
  repeated: number;
  seconds: number;
}

const unsettled = async (stack: Stack): Promise<number> => {
  const [row] = await query<{ n: string }>(
    stack,
    `select count(*) as n from webhook_deliveries where state in ('waiting', 'pending')`,
  );
  return Number(row?.n);
};

/** True when every flow that was acknowledged has ended, and everything that was told has arrived everywhere. */
const arrived = async (stack: Stack, storm: Storm, heard: () => number): Promise<boolean> => {
  const flows = storm.writes.filter(({ fact }) => fact === 'ended').map(({ id }) => id);
  const [row] = await query<{ n: string }>(
    stack,
    `select count(*) as n from activeflows where id = any($1::uuid[]) and data ->> 'status' = 'ended'`,
    [flows],
  );
  if (Number(row?.n) < flows.length || (await unsettled(stack)) > 0) return false;
  return heard() >= (await lastSequence(stack));
};

/**
 * Kills (kill -9) one process after the other while clients write, and tells which promises were broken.
 *
 * @param victims in the order they are killed; each is started again at once, and must get well before the next
 */
export const killInAStorm = async (
  stack: Stack,
  victims: readonly Victim[],
  told: (line: string) => void = () => undefined,
): Promise<Report> => {
  const receiver = await Receiver.start();
  await stack.api('PUT', '/customer', { webhook_uri: receiver.url, webhook_method: 'POST' });
  const start = await lastSequence(stack);
  const client = new ResumingClient(stack, start);
  const storm = new Storm(stack, WRITES_PER_SECOND);
  const began = performance.now();
  client.start();
  storm.start();
  const kills: Record<Victim, number> = { 'control-api': 0, redis: 0, postgres: 0 };
  try {
    for (const victim of victims) {
      await wait(CALM_MS[0] + Math.random() * (CALM_MS[1] - CALM_MS[0]));
      const one = processOf(stack, victim);
      await one.kill9();
      await one.restart();
      await stack.healthy(60_000);
      kills[victim] += 1;
      told(`killed ${victim} (${kills[victim]}), ${storm.writes.length} writes so far`);
    }
    await wait(CALM_MS[0]);
    await storm.stop();
    const seconds = (performance.now() - began) / 1000;
    const heard = (): number => client.heard.at(-1)?.sequence ?? start;
    for (const until = Date.now() + ARRIVAL_MS; Date.now() < until && !(await arrived(stack, storm, heard));)
      await wait(100);
    const log = await logAfter(stack, start);
    return {
      faults: faultsOf({ log, writes: storm.writes, heard: client.heard, received: receiver.received }),
      kills,
      asked: storm.asked,
      acknowledged: storm.writes.filter(write => write.acknowledged).length,
      refused: storm.refused,
      events: log.length,
      connections: client.connections,
      repeated: receiver.repeated,
      seconds,
    };
  } finally {
    await storm.stop();
    await client.stop();
    await receiver.stop();
  }
};

/** What the processes said lies in a file, for whoever looks for the fault. */
const keepLogs = (stack: Stack): void => {
  const file = join(tmpdir(), `trunkline-durability-${process.pid}.log`);
  writeFileSync(file, stack.logs().join('\n'));
  console.log(`what the processes said: ${file}`);
  process.exitCode = 1;
};

/** `npm run bench -- durability [rounds]`: each round kills control-api, Redis and PostgreSQL once. */
export const durabilityBench = async (rounds: number): Promise<void> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'warn' }, ownPostgres: true });
  try {
    const victims = Array.from({ length: rounds }, () => VICTIMS).flat();
    const report = await killInAStorm(stack, victims, line => console.log(line));
    const { kills, faults } = report;
    console.log(`\n${cpus().length} cores, Node ${process.version}, ${report.seconds.toFixed(0)} s of storm`);
    console.log(`kill -9: ${VICTIMS.map(victim => `${victim} ${kills[victim]}`).join(', ')}`);
    console.log(
      `writes: ${(report.asked / report.seconds).toFixed(1)} a second asked for, ${WRITES_PER_SECOND} wanted`,
    );
    console.log(`        ${report.acknowledged} acknowledged, ${report.refused} not`);
    console.log(`events: ${report.events}; WebSocket connections: ${report.connections}`);
    console.log(`webhooks that came more than once: ${report.repeated}`);
    console.log(
      faults.length === 0 ? 'nothing was lost, doubled or out of order' : `${faults.length} broken promises:`,
    );
    for (const fault of faults.slice(0, 40)) console.log(`- ${fault}`);
    if (faults.length > 0) keepLogs(stack);
  } finally {
    await stack.stop();
  }
};

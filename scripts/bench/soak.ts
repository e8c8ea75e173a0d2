import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { TestPhone } from '../../test/support/phone.ts';
import { type Stack, startStack } from '../../test/support/stack.ts';

const WARMUP_CALLS = 200;
/** Calls between two readings; each part has a phone of its own. */
const PART_CALLS = 1000;
const CONCURRENCY = 12;
/** How long everything may take to be over: 64*T1, and a little. */
const SETTLE_MS = 45_000;
/** Growth that is no leak yet: what a garbage collector leaves for later. */
const SPARE_MB = 64;

/** Figures by name, such as `engine dialogs` or `media-app MB`. */
type Reading = Record<string, number>;

const memoryMb = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

const processesOf = ({ processes }: Stack): [name: string, pid: number][] => [
  ['engine', processes.engine.pid],
  ...processes.mediaApp.map((one, i): [string, number] => [`media-app${i === 0 ? '' : ` ${i + 1}`}`, one.pid]),
  ['control-api', processes.controlApi.pid],
];

/** What the engine says it holds; it writes that to its log on SIGUSR2. */
const engineHolds = async (stack: Stack): Promise<Reading> => {
  const told = (): string[] =>
    stack.logs().filter(line => line.startsWith('engine ') && line.includes('"msg":"holds"'));
  const before = told().length;
  process.kill(stack.processes.engine.pid, 'SIGUSR2');
  while (told().length === before) await pause(20);
  const said = JSON.parse(told().at(-1)?.slice('engine '.length) ?? '{}') as Reading;
  const names = ['dialogs', 'transactions', 'channels', 'rtp_ports'];
  return Object.fromEntries(names.map(name => [`engine ${name}`, said[name] ?? NaN]));
};

/** Keys that stay for ever, those that go by themselves, and what Redis holds in MB. */
const redisHolds = async (redis: Redis): Promise<Reading> => {
  const keys = await redis.keys('*');
  const ttls = await Promise.all(keys.map(key => redis.ttl(key)));
  const bytes = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const lasting = ttls.filter(ttl => ttl === -1).length;
  return {
    'redis keys': lasting,
    'redis keys with an end': keys.length - lasting,
    'redis MB': Math.round(bytes / 2 ** 20),
  };
};

const read = async (stack: Stack, redis: Redis): Promise<Reading> => ({
  ...(await engineHolds(stack)),
  ...(await redisHolds(redis)),
  ...Object.fromEntries(
    processesOf(stack).flatMap(([name, pid]) => [
      [`${name} files and sockets`, openFiles(pid)],
      [`${name} MB`, memoryMb(pid)],
    ]),
  ),
});

/** Makes calls to the welcome number: answered, heard, hung up. Returns how many went wrong. */
const callPart = async (stack: Stack, calls: number): Promise<number> => {
  const domain = 'sip.trunkline.localhost';
  const phone = await TestPhone.start({ username: 'soak', domain, server: stack.sip });
  let [begun, failed] = [0, 0];
  const caller = async (): Promise<void> => {
    while (begun < calls) {
      begun += 1;
      try {
        const call = await phone.dial(`sip:${stack.welcome.number}@${domain}`);
        await call.answered();
        await call.hangup();
      } catch {
        failed += 1; // counted, and reported with the figures
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
  await phone.stop({ hangup: true });
  return failed;
};

/** What has to be as before: everything but memory and what Redis forgets by itself. */
const mustReturn = (name: string): boolean => !name.endsWith('MB') && !name.endsWith('with an end');

const grown = (before: Reading, after: Reading): string[] =>
  Object.keys(before).filter(name => {
    const growth = (after[name] ?? 0) - (before[name] ?? 0);
    return mustReturn(name) ? growth > 0 : name.endsWith('MB') && growth > SPARE_MB;
  });

/** Waits until what has to return has returned, or the time for it is over. */
const settled = async (stack: Stack, redis: Redis, before: Reading): Promise<Reading> => {
  for (const until = Date.now() + SETTLE_MS; ; await pause(1000)) {
    const now = await read(stack, redis);
    if (Date.now() > until || grown(before, now).every(name => !mustReturn(name))) return now;
  }
};

const print = (before: Reading, after: Reading): void => {
  for (const name of Object.keys(before))
    console.log(`${name.padEnd(34)}${String(before[name]).padStart(8)}${String(after[name]).padStart(8)}`);
};

/**
 * `npm run bench -- soak [calls]`: short calls through everything, in parts of a thousand; what dialogs, transactions,
 * channels, ports, sockets, Redis keys and memory were at the start and are at the end. Exits 1 where they do not return.
 */
export const soakBench = async (calls: number): Promise<void> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'info' } });
  const redis = new Redis(stack.redisUrl);
  try {
    await callPart(stack, WARMUP_CALLS);
    await pause(SETTLE_MS); // transactions of the warm-up linger for 64*T1
    const before = await read(stack, redis);
    const began = performance.now();
    let failed = 0;
    for (let done = 0; done < calls; done += PART_CALLS) {
      const part = Math.min(PART_CALLS, calls - done);
      failed += await callPart(stack, part);
      const memory = processesOf(stack).map(([name, pid]) => `${name} ${memoryMb(pid)} MB`);
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(`${done + part} calls, ${failed} failed, ${seconds} s: ${memory.join(', ')}`);
    }
    const after = await settled(stack, redis, before);
    console.log(`\n${''.padEnd(34)}${'start'.padStart(8)}${'end'.padStart(8)}`);
    print(before, after);
    const leaks = grown(before, after);
    console.log(leaks.length === 0 ? 'everything returned' : `did not return: ${leaks.join(', ')}`);
    if (leaks.length > 0 || failed > 0) process.exitCode = 1;
  } finally {
    await redis.quit();
    await stack.stop();
  }
};

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { keys } from '#contract/keys';
import { startStack, type Stack } from '../../test/support/stack.ts';
import { percentile } from './figures.ts';
import { processorSeconds } from './processes.ts';
import { RegisteringPhones, type Account } from './registering-phones.ts';
import { startEngineProcess } from './servers.ts';
import { startScript } from './systems.ts';

const AT_ONCE = 50;
const BARE_AT_MOST = 5000;
/** Garbage aside, memory must not be more than a quarter over that after the first registrations. */
const GROWTH = 1.25;
const GARBAGE_MIB = 50;
const PASSWORD = 'secret';

const EXTENSIONS = `
  INSERT INTO extensions (id, customer_id, extension, username, password, domain_name, name, detail, direct_hash, tm_create)
  SELECT gen_random_uuid(), $1, 'bench' || n, 'bench' || n, $2, $3, '', '', 'direct.bench' || n, now()
  FROM generate_series(1, $4::int) AS n`;

/** Registrations of all accounts, so many at a time; what each took in milliseconds, and how long all. */
const registerAll = async (phones: RegisteringPhones, accounts: Account[]) => {
  const took: number[] = [];
  const failures: string[] = [];
  let next = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    for (let at = next++; at < accounts.length; at = next++)
      await phones.register(accounts[at] as Account, at).then(
        ms => took.push(ms),
        (error: unknown) => failures.push(String(error)),
      );
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { took, failures, a_second: (took.length / (performance.now() - began)) * 1000 };
};

/** Every phone registers again within the time, one after another as in life; how many could not. */
const refreshAll = async (phones: RegisteringPhones, accounts: Account[], ms: number, midway: () => void) => {
  const failures: string[] = [];
  const open: Promise<unknown>[] = [];
  const began = performance.now();
  for (const [at, account] of accounts.entries()) {
    const due = began + (ms * at) / accounts.length;
    if (due > performance.now()) await new Promise(resolve => setTimeout(resolve, due - performance.now()));
    if (at === Math.floor(accounts.length / 2)) midway();
    open.push(phones.register(account, at).catch((error: unknown) => failures.push(String(error))));
  }
  await Promise.all(open);
  return failures;
};

const rssOf = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);

/** What engine and media-app hold, in MiB. */
const memoryOf = ({ processes }: Stack) => ({
  engine: rssOf(processes.engine.pid),
  media_app: rssOf(processes.mediaApp[0]?.pid ?? process.pid),
});

/** Milliseconds of processor time that engine and media-app have used. */
const processorTime = ({ processes }: Stack): number =>
  [processes.engine.pid, ...processes.mediaApp.map(({ pid }) => pid)].reduce(
    (sum, pid) => sum + processorSeconds(pid) * 1000,
    0,
  );

/** The accounts of new extensions of the home customer. */
const accountsOf = async (stack: Stack, count: number): Promise<Account[]> => {
  const domain = stack.welcome.extensions[0]?.domain_name ?? '';
  const db = new pg.Client({ connectionString: stack.databaseUrl });
  await db.connect();
  await db.query(EXTENSIONS, [stack.welcome.customer_id, PASSWORD, domain, count]);
  await db.query('ANALYZE extensions');
  await db.end();
  return Array.from({ length: count }, (_, n) => ({ username: `bench${n + 1}`, password: PASSWORD, domain }));
};

/** How many registered contacts Redis holds. */
const contactsOf = async (stack: Stack): Promise<number> => {
  const redis = new Redis(stack.redisUrl);
  const count = await redis.zcard(keys.contactEnds);
  redis.disconnect();
  return count;
};

/** Registrations a second of drachtio-srf alone on an engine of its own, with no digest and no memory. */
const bareRate = async (count: number): Promise<number> => {
  const engine = await startEngineProcess();
  const script = fileURLToPath(new URL('./bare-registrar.ts', import.meta.url));
  const app = await startScript(script, [String(engine.admin.port), engine.admin.secret]);
  const phones = await RegisteringPhones.start({ host: '127.0.0.1', port: engine.sipPort });
  const accounts = Array.from({ length: count }, (_, n) => ({ username: `b${n}`, password: '', domain: '127.0.0.1' }));
  await registerAll(phones, accounts.slice(0, 500)); // warm
  const { a_second } = await registerAll(phones, accounts);
  phones.close();
  app.stop();
  await engine.stop();
  return a_second;
};

/**
 * `npm run bench -- registrar [contacts] [minutes]`: registrations a second with digest beside the bare engine, and that
 * many contacts refreshed over that time. Fails when one could not register, is missing at the end, or memory grows on.
 */
export const registrarBench = async (contacts: number, minutes: number): Promise<void> => {
  const bare = await bareRate(Math.min(contacts, BARE_AT_MOST));
  const stack = await startStack({ env: { LOG_LEVEL: 'warn' } });
  try {
    const accounts = await accountsOf(stack, contacts);
    const phones = await RegisteringPhones.start(stack.sip);
    console.log('memory at the start (MiB)', memoryOf(stack));
    const used = processorTime(stack);
    const first = await registerAll(phones, accounts);
    const costs = (processorTime(stack) - used) / Math.max(1, first.took.length);
    console.log(
      `registrations a second: ${first.a_second.toFixed(0)} with digest, ${bare.toFixed(0)} bare,`,
      `ratio ${(first.a_second / bare).toFixed(2)}; median ${percentile(first.took, 0.5).toFixed(1)} ms,`,
      `p99 ${percentile(first.took, 0.99).toFixed(1)} ms, ${AT_ONCE} at a time;`,
      `${costs.toFixed(2)} ms of processor time each in engine and media-app`,
    );
    const before = memoryOf(stack);
    console.log(`memory with ${contacts} contacts (MiB)`, before);
    const report = () => console.log('memory in the middle (MiB)', memoryOf(stack));
    const failures = [...first.failures, ...(await refreshAll(phones, accounts, minutes * 60_000, report))];
    const [after, held] = [memoryOf(stack), await contactsOf(stack)];
    console.log('memory at the end (MiB)', after);
    console.log(`${held} of ${contacts} contacts are registered; ${phones.asked} were asked whether they are there`);
    for (const failure of failures.slice(0, 5)) console.log(failure);
    phones.close();
    const most = (mib: number): number => mib * GROWTH + GARBAGE_MIB;
    const grown = after.engine > most(before.engine) || after.media_app > most(before.media_app);
    if (failures.length || held !== contacts || grown) process.exitCode = 1;
    console.log(`failures: ${failures.length}; memory ${grown ? 'grows' : 'is bounded'}`);
  } finally {
    await stack.stop();
  }
};

import { setTimeout as pause } from 'node:timers/promises';
import { TestPhone } from '../../test/support/phone.ts';
import { engineAlone, platform, type Reading, type SoakTarget } from './soak-target.ts';

const WARMUP_CALLS = 1000;
/** Calls of one phone; the next part has another. */
const PART_CALLS = 1000;
const CONCURRENCY = 16;
/** How long everything may take to be over: 64*T1, and a little. */
const SETTLE_MS = 45_000;
/**
 * Growth that is no leak: what a collector leaves for later and the allocator keeps, where we cannot ask for a collection, and
 * what code that was compiled meanwhile takes, where we can.
 */
const SPARE_MB = { collected: 8, resident: 32 };

/** Makes calls that are answered and hung up at once. Returns how many went wrong. */
const callPart = async ({ sip, domain, number }: SoakTarget, calls: number): Promise<number> => {
  const phone = await TestPhone.start({ username: 'soak', domain, server: sip });
  let [begun, failed] = [0, 0];
  const caller = async (): Promise<void> => {
    while (begun < calls) {
      begun += 1;
      try {
        const call = await phone.dial(`sip:${number}@${domain}`);
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

const spareOf = (name: string): number => (/heap|buffers/.test(name) ? SPARE_MB.collected : SPARE_MB.resident);

const grown = (before: Reading, after: Reading): string[] =>
  Object.keys(before).filter(name => {
    const growth = (after[name] ?? 0) - (before[name] ?? 0);
    return mustReturn(name) ? growth > 0 : name.endsWith('MB') && growth > spareOf(name);
  });

/** Waits until what has to return has returned, or the time for it is over. */
const settled = async (target: SoakTarget, before: Reading): Promise<Reading> => {
  for (const until = Date.now() + SETTLE_MS; ; await pause(1000)) {
    const now = await target.read();
    if (Date.now() > until || grown(before, now).every(name => !mustReturn(name))) return now;
  }
};

const printTable = (columns: Record<string, Reading>): void => {
  const cells = (values: (string | number | undefined)[]): string =>
    values.map(value => String(value).padStart(10)).join('');
  console.log(`\n${''.padEnd(34)}${cells(Object.keys(columns))}`);
  const [first = {}] = Object.values(columns);
  for (const name of Object.keys(first))
    console.log(`${name.padEnd(34)}${cells(Object.values(columns).map(one => one[name]))}`);
};

/** Half of the calls, told in parts. */
const run = async (target: SoakTarget, calls: number, title: string): Promise<number> => {
  let failed = 0;
  for (let done = 0; done < calls; done += PART_CALLS) {
    const [part, began] = [Math.min(PART_CALLS, calls - done), performance.now()];
    failed += await callPart(target, part);
    const perSecond = (1000 * part) / (performance.now() - began);
    const now = await target.read();
    console.log(
      `${title} ${done + part}: ${perSecond.toFixed(0)} calls a second, ${failed} failed; engine: ${now['engine resident MB']} MB ` +
        `(heaps ${now['engine SIP heap MB']} and ${now['engine media heap MB']}), ${now['engine transactions']} transactions`,
    );
  }
  return failed;
};

/**
 * `npm run bench -- soak [calls] [engine|platform]`: short calls, in parts of a thousand; what dialogs, transactions, channels, ports,
 * sockets, Redis keys and memory are at the beginning, in the middle and at the end, each time when everything had time to be
 * over. Against the engine alone, where a call costs the least and nothing but what the engine keeps is to be seen, or against the whole
 * platform. Exits 1 where they do not return.
 */
export const soakBench = async (calls: number, against: string): Promise<void> => {
  const target = await (against === 'engine' ? engineAlone() : platform());
  try {
    await callPart(target, WARMUP_CALLS);
    const begin = await settled(target, { ...(await target.read()), 'engine transactions': 0 });
    let failed = await run(target, calls / 2, 'first half');
    const middle = await settled(target, begin);
    failed += await run(target, calls / 2, 'second half');
    const end = await settled(target, begin);
    printTable({ begin, middle, end });
    const perCall = (name: string): string =>
      `${(((end[name] ?? 0) - (middle[name] ?? 0)) * 2 ** 20) / (calls / 2)}`.slice(0, 6);
    console.log(
      `\nbytes a call of the second half left: ${perCall('engine SIP heap MB')} SIP, ${perCall('engine media heap MB')} media`,
    );
    const leaks = grown(begin, end);
    console.log(leaks.length === 0 ? 'everything returned' : `did not return: ${leaks.join(', ')}`);
    if (failed > 0) console.log(`${failed} calls failed`);
    if (leaks.length > 0 || failed > 0) process.exitCode = 1;
  } finally {
    await target.stop();
  }
};

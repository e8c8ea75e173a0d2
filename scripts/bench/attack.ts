import { newId } from '#contract/ids';
import { CarrierDesk, OWN_NUMBER } from '../../test/support/carrier.ts';
import { Office, type PhoneAccount } from '../../test/support/office.ts';
import { startStack, type Stack } from '../../test/support/stack.ts';
import { installPackages } from '../start/install.ts';
import { Campaign, type CampaignPlan } from './attack-campaign.ts';
import { type Memory, memoryOf, readableHeap } from './attack-memory.ts';
import { hasSipp } from './attack-sipp.ts';
import { timeRefusals } from './attack-timing.ts';
import { Victims } from './attack-victims.ts';
import type { Target } from './attack-waves.ts';
import { engineAccount } from './engine-account.ts';
import { percentile } from './figures.ts';

/** How much a process may grow, MB: resident in all, and what its heap holds in a campaign after the first. */
const MOST_GROWTH = { resident: 600, heap_later: 8 };
/** With a small heap a process that held what strangers send would die of it. */
const HEAP_MB = 160;
/** RFC 3261 64*T1, twice, and a little: by then nothing of an attack is remembered. */
const FORGOTTEN_MS = 75_000;
/** Transactions of the house itself, such as OPTIONS to its phones. */
const AT_REST = 5;

/** What came of an attack: figures, and what must not have happened, a sentence each. */
export interface AttackResult {
  messages: number;
  addresses: number;
  /** How many messages strangers heard, and the bytes both ways. */
  heard: number;
  bytes: { sent: number; heard: number };
  /** Calls of sipp, none of which was acknowledged. */
  never_acked: number;
  /** Final answers by wave and `method status`. */
  answers: Map<string, Map<string, number>>;
  setups: { before: number[]; during: number[] };
  registrations: number;
  timing: Record<string, number[]>;
  /** By process: before, and after each campaign. */
  memory: Map<string, Memory[]>;
  bans: number;
  /** Requests that the engine dropped because of a ban, and those of a crowd that it turned away. */
  dropped: number;
  turned_away: number;
  breaches: string[];
}

const account = async (stack: Stack, extension: string): Promise<PhoneAccount & { direct_hash: string }> => {
  const password = newId();
  const made = await stack.api<PhoneAccount & { direct_hash: string }>('POST', '/extensions', { extension, password });
  if (made.status !== 200) throw new Error(`POST /extensions answered ${made.status}: ${JSON.stringify(made.body)}`);
  return { ...made.body, password };
};

interface Siege {
  stack: Stack;
  victims: Victims;
  target: Target;
  memory: Map<string, Memory[]>;
  campaigns: Campaign[];
}

const prepare = async (stack: Stack, desk: CarrierDesk, office: Office): Promise<Siege> => {
  const [own, door] = [await account(stack, '1666'), await account(stack, '1777')];
  const victims = await Victims.start(office, desk, door);
  const target: Target = {
    domain: 'trunkline.localhost',
    realm: door.domain_name,
    server: stack.sip,
    victim: '1001',
    own,
    sniffed: victims.sniffed(),
    direct: door.direct_hash,
  };
  return { stack, victims, target, memory: new Map(), campaigns: [] };
};

const readMemory = async ({ stack, memory }: Siege): Promise<void> => {
  for (const [name, now] of await memoryOf(stack)) memory.set(name, [...(memory.get(name) ?? []), now]);
};

/** Empty where the servers are not ours: they do not say it. */
const accountOf = async (stack: Stack): Promise<Record<string, number>> => {
  const { pid } = stack.processes.engine;
  return Number.isNaN(pid) ? {} : engineAccount(pid, () => stack.logs());
};

/** Waits until the engine has forgotten an attack, or the time for it is over. */
const forgotten = async (stack: Stack): Promise<void> => {
  for (const until = Date.now() + FORGOTTEN_MS; Date.now() < until;) {
    const { transactions = 0, dialogs = 0 } = await accountOf(stack);
    if (transactions <= AT_REST && dialogs === 0) return;
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
};

/**
 * Attacks the SIP side of a stack while honest phones use it; several times, if so wanted, each after the one before is
 * forgotten.
 */
export const attack = async (stack: Stack, desk: CarrierDesk, plan: CampaignPlan, times = 1): Promise<AttackResult> => {
  const office = new Office(stack);
  try {
    const siege = await prepare(stack, desk, office);
    const { victims, target, campaigns } = siege;
    for (let n = 0; n < 5; n++) await victims.call('1002');
    const before = victims.setups.splice(0);
    await readMemory(siege);
    for (let nth = 0; nth < times; nth++) {
      const campaign = new Campaign(target, plan, nth);
      campaigns.push(campaign);
      victims.run();
      await campaign.run();
      await victims.stop();
      if (times > 1) await forgotten(stack);
      await readMemory(siege);
    }
    const [timing, told] = await timeRefusals(target, Math.max(20, Math.min(200, Math.floor(plan.messages / 100))));
    const breaches = [...campaigns.flatMap(one => one.breaches), ...(await victims.breaches()), ...told];
    return { ...(await resultOf(siege)), setups: { before, during: victims.setups }, timing, breaches: breachesOf(siege, breaches) }; // prettier-ignore
  } finally {
    await office.close();
  }
};

const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0);

const resultOf = async ({
  stack,
  victims,
  campaigns,
  memory,
}: Siege): Promise<Omit<AttackResult, 'setups' | 'timing' | 'breaches'>> => {
  // prettier-ignore
  const answers: AttackResult['answers'] = new Map();
  for (const [wave, counts] of campaigns.flatMap(one => [...one.answers])) {
    const all = answers.get(wave) ?? new Map<string, number>();
    for (const [name, count] of counts) all.set(name, (all.get(name) ?? 0) + count);
    answers.set(wave, all);
  }
  const { dropped = 0, turned_away = 0 } = await accountOf(stack);
  return {
    messages: sum(campaigns.map(one => one.messages)),
    addresses: sum(campaigns.map(one => one.addresses)),
    heard: sum(campaigns.map(one => one.heard)),
    bytes: { sent: sum(campaigns.map(one => one.bytes.sent)), heard: sum(campaigns.map(one => one.bytes.heard)) },
    never_acked: sum(campaigns.map(one => one.neverAcked)),
    ...{ answers, memory, dropped, turned_away },
    registrations: victims.registrations,
    bans: stack.logs().filter(line => line.includes('"msg":"banned"')).length,
  };
};

const breachesOf = ({ victims, memory }: Siege, breaches: string[]): string[] => [
  ...new Set(breaches),
  ...victims.failures.map(failure => `a phone of the house was harmed: ${failure}`),
  ...(victims.setups.length ? [] : ['no phone of the house called']),
  ...[...memory].flatMap(([name, readings]) => bloat(name, readings)),
];

const bloat = (name: string, readings: Memory[]): string[] => {
  const [first, second, last] = [readings[0], readings[1], readings.at(-1)];
  if (!first || !second || !last) return [`nothing is known of the memory of ${name}`];
  const grown = last.resident - first.resident;
  const later = last.heap - second.heap; // of one campaign alone, or without inspector, nothing
  return [
    ...(grown > MOST_GROWTH.resident ? [`${name} grew by ${grown.toFixed(0)} MB`] : []),
    ...(later > MOST_GROWTH.heap_later ? [`the heap of ${name} holds ${later.toFixed(0)} MB more after another campaign`] : []), // prettier-ignore
  ];
};

const spread = (samples: number[]): string =>
  `median ${percentile(samples, 0.5).toFixed(2)} ms, 9 of 10 below ${percentile(samples, 0.9).toFixed(2)} ms`;

const report = (result: AttackResult, seconds: number): void => {
  const { messages, addresses, heard, bytes, setups, breaches, dropped, turned_away } = result;
  console.log(`attack: ${messages} messages from ${addresses} addresses in ${seconds.toFixed(0)} s; ${result.bans} bans, ${dropped} messages of banned sources dropped, ${turned_away} of a crowd turned away`); // prettier-ignore
  for (const [wave, counts] of result.answers)
    console.log(`${wave.padEnd(26)} ${[...counts].sort(([, a], [, b]) => b - a).map(([name, n]) => `${name}: ${n}`).join(', ')}`); // prettier-ignore
  console.log(`\nstrangers heard ${heard} messages: ${(heard / messages).toFixed(2)} for each of theirs, ${(bytes.heard / bytes.sent).toFixed(2)} bytes for each byte`); // prettier-ignore
  const unacked = result.answers.get('sipp never-acked');
  if (unacked) console.log(`INVITEs that were never acknowledged: ${result.never_acked}, answered by ${sum([...unacked.values()])} messages`); // prettier-ignore
  console.log(`phones of the house: ${setups.during.length} calls, ${result.registrations} registrations`);
  console.log(`  setup before         ${spread(setups.before)}`);
  console.log(`  setup during         ${spread(setups.during)}`);
  console.log('a wrong password, refused for');
  for (const [name, samples] of Object.entries(result.timing)) console.log(`  ${name.padEnd(20)} ${spread(samples)}`);
  reportMemory(result);
  for (const breach of breaches.slice(0, 20)) console.log(`breach: ${breach}`);
  console.log(`\n${breaches.length} breaches`);
};

const reportMemory = ({ memory, messages }: AttackResult): void => {
  const cells = (numbers: number[]): string => numbers.map(one => one.toFixed(1).padStart(7)).join('');
  console.log('memory, MB: before and after each campaign; and how much 10,000 messages of each took');
  for (const [name, readings] of memory)
    for (const what of ['resident', 'heap'] as const) {
      const now = readings.map(one => one[what]);
      const steps = now.slice(1).map((one, at) => one - (now[at] ?? 0));
      const each = steps.map(step => (step / messages) * steps.length * 10_000);
      if (!Number.isNaN(now[0])) console.log(`  ${`${name} ${what}`.padEnd(22)}${cells(now)}   ${cells(each)}`);
    }
};

/** What the SIP server still holds when every transaction of the attack has timed out (RFC 3261 64*T1), a sentence each. */
const leftovers = async (stack: Stack): Promise<string[]> => {
  const deadline = Date.now() + FORGOTTEN_MS;
  for (;;) {
    const held = await stack.holds();
    if (held.length === 0 || Date.now() > deadline) return held.map(what => `the engine never let go of ${what}`);
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
};

/**
 * `npm run bench -- attack [messages]`: strangers against a server of its own, by script and by sipp, twice; fails when they
 * got anywhere, or the second time takes more memory.
 */
export const attackBench = async (count = 50_000): Promise<void> => {
  if (!hasSipp()) await installPackages(['sip-tester'], console.log);
  const stack = await startStack({ env: readableHeap(HEAP_MB) });
  const desk = await CarrierDesk.open(stack);
  await desk.standIn(OWN_NUMBER);
  try {
    const began = performance.now();
    const result = await attack(stack, desk, { messages: count, sipp: true }, 2);
    const seconds = (performance.now() - began) / 1000;
    result.breaches.push(...(await leftovers(stack)));
    report(result, seconds);
    if (result.breaches.length > 0) process.exitCode = 1;
    await desk.clear();
  } finally {
    await desk.close();
    await stack.stop();
  }
};

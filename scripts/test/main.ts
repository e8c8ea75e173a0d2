import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { installPrograms, TEST_PROGRAMS } from '../start/install.ts';
import { StartError } from '../start/config.ts';
import { ROOT } from '../start/system.ts';
import type { LaneResult } from './lane.ts';
import { runTask, type Task } from './task.ts';

const MINUTE_MS = 60_000;
const CACHE = join(ROOT, 'node_modules/.cache');

/** Calls are mostly waiting and listening: this many lanes of them share two cores without disturbing each other. */
const CALL_LANES = 4;

/** What kills processes waits for others to start again; each file has servers of its own. */
const DURABILITY_LANES = 2;

/** A whole run gives a test that fails one more try (see lane.ts); a test that is run by hand gets none. */
const TWICE = ['--twice'];

const program = (name: string, file: string): string => {
  const found = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return join(dirname(found), file);
};

const check = (name: string, args: string[]): Task => ({ name, kind: 'check', args, limitMs: 5 * MINUTE_MS });

const checks = (): Task[] => [
  check('lint', [
    program('eslint', 'bin/eslint.js'),
    '--cache',
    '--cache-location',
    `${CACHE}/eslint/`,
    '--cache-strategy',
    'content',
    '.',
  ]),
  check('types', [
    program('typescript', 'bin/tsc'),
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `${CACHE}/types.tsbuildinfo`,
  ]),
  check('format', [
    program('prettier', 'bin/prettier.cjs'),
    '--check',
    '--log-level',
    'warn',
    '--cache',
    '--cache-location',
    `${CACHE}/prettier/.prettier-cache`,
    '.',
  ]),
];

const testFiles = (folder: string): string[] => {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort();
};

const lane = (name: string, files: string[], more: string[] = []): Task => ({
  name: `${name}: ${files.length} file${files.length === 1 ? '' : 's'}`,
  kind: 'lane',
  args: ['--import', 'tsx', join(ROOT, 'scripts/test/lane.ts'), ...more, ...files],
  limitMs: 8 * MINUTE_MS,
});

const runBesideEachOther = async (tasks: Task[], width: number): Promise<LaneResult[]> => {
  const waiting = [...tasks];
  const results: LaneResult[] = [];
  const worker = async (): Promise<void> => {
    for (let task = waiting.shift(); task; task = waiting.shift()) results.push(await runTask(task, false));
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
};

/** Files that take long, in seconds of their tests; others take a few. Only the balance of the lanes hangs on them. */
const SECONDS: Record<string, number> = {
  ...{ refer: 26, transfer: 23, amd: 22, 'carrier-in': 20, 'how-calls-end': 20, 'carrier-out': 14, 'media-stream': 19 },
  ...{
    recording: 18,
    'api-call': 18,
    'call-controls': 17,
    'conference-stream': 16,
    'foreign-phones': 16,
    conference: 15,
  },
  ...{ 'conference-recording': 14, number: 13, 'simulated-flows': 13, 'transfer-races': 13, groupcalls: 12, guard: 12 },
  ...{
    'conference-races': 9,
    'secure-media': 9,
    'early-media': 9,
    'external-media': 7,
    registration: 6,
    'browser-phone': 6,
    'who-may-call-out': 6,
  },
  ...{ start: 47, 'two-nodes': 33, killed: 21, stores: 16, 'every-state': 11 },
};
const secondsOf = (file: string): number => SECONDS[basename(file, '.test.ts')] ?? 3;

/** The test files of a folder dealt out to lanes, the longest first, each to the lane that has least; no lane is empty. */
const deal = (folder: string, lanes: number): Task[] => {
  const hands = Array.from({ length: lanes }, () => ({ files: [] as string[], seconds: 0 }));
  const files = testFiles(`test/${folder}`).sort((a, b) => secondsOf(b) - secondsOf(a));
  for (const file of files) {
    const least = hands.reduce((one, other) => (other.seconds < one.seconds ? other : one));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return hands
    .filter(hand => hand.files.length > 0)
    .map((hand, at) => lane(lanes > 1 ? `${folder} ${at + 1} of ${lanes}` : folder, hand.files, TWICE));
};

/**
 * Everything, in three stages: what keeps a processor busy, with the conformance tests, which mostly wait, beside it, the longest
 * first; the calls; and last what kills processes.
 */
const runAll = async (): Promise<LaneResult[]> => {
  const root = readdirSync(join(ROOT, 'test')).filter(name => name.endsWith('.test.ts'));
  const quick = [...root.map(name => join(ROOT, 'test', name)), ...testFiles('test/unit')];
  const first = [...deal('conformance', 1), ...deal('api', 1), lane('unit', quick, TWICE), ...checks()];
  return [
    ...(await runBesideEachOther(first, 3)),
    ...(await runBesideEachOther(deal('calls', CALL_LANES), CALL_LANES)),
    ...(await runBesideEachOther(deal('durability', DURABILITY_LANES), DURABILITY_LANES)),
  ];
};

/** `npm test -- [--grep text] file…` runs only these. */
const runChosen = async (given: string[]): Promise<LaneResult[]> => {
  const more = given[0] === '--grep' ? given.slice(0, 2) : [];
  const paths = given.slice(more.length);
  const files = paths.flatMap(path => (path.endsWith('.ts') ? [path] : testFiles(path)));
  return [await runTask(lane('chosen', files.length > 0 ? files : testFiles('test'), more), true)];
};

const sum = (results: LaneResult[], key: keyof LaneResult): number =>
  results.reduce((total, one) => total + one[key], 0);

const prepare = async (): Promise<boolean> => {
  mkdirSync(CACHE, { recursive: true });
  try {
    await installPrograms({}, text => console.log(text), TEST_PROGRAMS);
    return true;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    console.error(error.message);
    return false;
  }
};

const main = async (): Promise<void> => {
  const given = process.argv.slice(2);
  const ready = await prepare();
  const missing: LaneResult = { passed: 0, failed: 1, skipped: 0 };
  const results = ready ? await (given.length > 0 ? runChosen(given) : runAll()) : [missing];
  process.exitCode = sum(results, 'failed') > 0 ? 1 : 0;
  console.log(
    `\n${sum(results, 'passed')} passed, ${sum(results, 'failed')} failed, ${sum(results, 'skipped')} skipped`,
  );
};

await main();

import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installPrograms, TEST_PROGRAMS } from '../start/install.ts';
import { StartError } from '../start/config.ts';
import { ROOT } from '../start/system.ts';
import type { LaneResult } from './lane.ts';
import { lanes, longestFirst, runTasks } from './lanes.ts';
import type { Task } from './task.ts';

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

const check = (name: string, args: string[]): Task => ({ name, args, limitMs: 8 * MINUTE_MS });

const checks = (): [Task, Task, Task] => [
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

/**
 * Everything: first what keeps a processor busy, with the conformance tests, which mostly wait, beside it; calls as soon as there is
 * room; and when they are through, what kills processes.
 */
const runAll = async (): Promise<LaneResult[]> => {
  const root = readdirSync(join(ROOT, 'test')).filter(name => name.endsWith('.test.ts'));
  const quick = [...root.map(name => join(ROOT, 'test', name)), ...testFiles('test/unit')];
  const folder = (name: string, count: number): Task[] =>
    lanes(name, longestFirst(testFiles(`test/${name}`)), count, TWICE);
  const [lint, types, format] = checks();
  const [conformance = [], more = []] = folder('conformance', 2).map(lane => [lane]);
  const busy = [lint, ...folder('api', 1), ...conformance, ...lanes('unit', quick, 1, TWICE), types, ...more, format];
  return [
    ...(await runTasks([...busy, ...folder('calls', CALL_LANES)], { width: CALL_LANES })),
    ...(await runTasks(folder('durability', DURABILITY_LANES), { width: DURABILITY_LANES })),
  ];
};

/** `npm test -- [--grep text] file…` runs only these. */
const runChosen = (given: string[]): Promise<LaneResult[]> => {
  const more = given[0] === '--grep' ? given.slice(0, 2) : [];
  const paths = given.slice(more.length);
  const files = paths.flatMap(path => (path.endsWith('.ts') ? [path] : testFiles(path)));
  return runTasks(lanes('chosen', files.length > 0 ? files : testFiles('test'), 1, more), { width: 1, live: true });
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

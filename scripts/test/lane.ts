import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import Mocha from 'mocha';
import { judged } from './judged.ts';
import { beLane } from './shared.ts';

/** What the tests of a run, or of a part of it, came to. */
export interface LaneResult {
  passed: number;
  failed: number;
  skipped: number;
}

/** What a lane tells the process that started it, whenever it is free: what its files came to so far, and whether it takes more. */
export interface LaneReport extends LaneResult {
  done: boolean;
}

/** What it is answered until it is done: the next file, or that there is none. */
export interface LaneOrder {
  file?: string;
}

interface LaneOptions {
  retries: number;
  grep: string | undefined;
}

const total: LaneResult = { passed: 0, failed: 0, skipped: 0 };
const again: string[] = [];
/** True while mocha runs a file, and sees to what nobody catches. */
let inMocha = false;

/** A file that does not load is a failed test of its own, and the other files run all the same. */
const loadFile = async (mocha: Mocha, file: string): Promise<void> => {
  mocha.files = [resolve(file)];
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    const test = new Mocha.Test(`${file} loads`, () =>
      Promise.reject(error instanceof Error ? error : new Error(String(error))),
    );
    mocha.suite.addTest(test);
  }
};

/** Whether a file has a test that was asked for; one without it is not worth a line. */
const isAskedFor = (mocha: Mocha): boolean => {
  const { grep } = mocha.options as { grep?: RegExp | undefined };
  let found = false;
  mocha.suite.eachTest(test => (found ||= grep?.test(test.fullTitle()) ?? true));
  return found;
};

const runFile = async (file: string, { retries, grep }: LaneOptions): Promise<void> => {
  const forbidOnly = process.env['CI'] !== undefined;
  const mocha = new Mocha({ timeout: 10_000, reporter: 'spec', forbidOnly, grep, retries });
  await loadFile(mocha, file);
  if (!isAskedFor(mocha)) return;
  console.log(`\n${relative('', file)}`);
  await new Promise<void>(finished => {
    inMocha = true;
    const runner = mocha.run(failures => {
      inMocha = false;
      const { passes = 0, pending = 0 } = runner.stats ?? {};
      total.passed += passes;
      total.failed += failures;
      total.skipped += pending;
      finished();
    });
    runner.on('retry', (test: Mocha.Test, error: Error) =>
      again.push(`${test.fullTitle()} (${error.message.split('\n')[0]})`),
    );
    runner.on('test', () => (judged.failed = false));
    for (const verdict of ['retry', 'fail'] as const) runner.on(verdict, () => (judged.failed = true));
  });
  mocha.dispose();
};

/** What a file left behind may fail while no file runs. */
const watchBetweenFiles = (): void => {
  process.on('uncaughtException', error => {
    if (inMocha) return;
    console.log(`\n  ✗ failed behind a file: ${error.stack}`);
    total.failed += 1;
  });
  process.on('unhandledRejection', reason =>
    console.log(`  note: a promise was rejected and nobody held it: ${String(reason)}`),
  );
};

/** The files that the process which started this one hands out, one whenever this one is free. */
async function* handedOut(): AsyncGenerator<string> {
  for (;;) {
    const order = new Promise<LaneOrder>(resolve => process.once('message', resolve));
    process.send?.({ ...total, done: false } satisfies LaneReport);
    const { file } = await order;
    if (file === undefined) return;
    yield file;
  }
}

/** Nobody wants the rest when the process that started this one has gone; what files share goes with this one. */
const leave = (): never => process.exit(1);

const finish = (complaints: string[]): void => {
  for (const title of again) console.log(`  note: needed a second try: ${title}`);
  for (const complaint of complaints) console.log(`\n  ✗ ${complaint}`);
  total.failed += complaints.length;
  if (process.send) process.send({ ...total, done: true } satisfies LaneReport);
  else console.log(total);
  process.off('disconnect', leave).disconnect?.();
  process.exitCode = total.failed > 0 ? 1 : 0;
  // A lane that leaks would run for ever. The timer itself keeps nothing alive.
  setTimeout(() => {
    console.log(`  note: still open after the tests: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit();
  }, 5_000).unref();
};

/**
 * Runs file after file with mocha in one process: `lane.ts [--twice] [--grep text] [file…]`; those that are handed out where none is
 * named. With `--twice` a test that fails runs once more, because much here is judged by the clock and by ear on a machine
 * that may be busy; the run names those tests.
 */
const main = async (given: string[]): Promise<void> => {
  const retries = given[0] === '--twice' ? 1 : 0;
  if (retries) given.shift();
  const grep = given[0] === '--grep' ? given.splice(0, 2)[1] : undefined;
  const stopShared = beLane();
  watchBetweenFiles();
  process.once('disconnect', leave);
  for await (const file of given.length > 0 ? given : handedOut()) await runFile(file, { retries, grep });
  finish(await stopShared());
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));

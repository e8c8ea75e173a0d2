import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import Mocha from 'mocha';
import { judged } from './judged.ts';

/** What a lane tells the process that started it. */
export interface LaneResult {
  passed: number;
  failed: number;
  skipped: number;
}

/** A file that does not load is a failed test of its own, and the other files run all the same. */
const loadFile = async (mocha: Mocha, file: string): Promise<void> => {
  mocha.files = [file];
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    const test = new Mocha.Test(`${file} loads`, () =>
      Promise.reject(error instanceof Error ? error : new Error(String(error))),
    );
    mocha.suite.addTest(test);
  }
};

const report = (result: LaneResult): void => {
  if (process.send) process.send(result);
  else console.log(result);
};

/**
 * Runs mocha over the files in one process: `lane.ts [--twice] [--grep text] file…`. With `--twice` a test that fails runs
 * once more, because much here is judged by the clock and by ear on a machine that may be busy; the run names those tests.
 */
const main = async (given: string[]): Promise<void> => {
  const retries = given[0] === '--twice' ? 1 : 0;
  if (retries) given.shift();
  const grep = given[0] === '--grep' ? given.splice(0, 2)[1] : undefined;
  const mocha = new Mocha({
    timeout: 10_000,
    reporter: 'spec',
    forbidOnly: process.env['CI'] !== undefined,
    grep,
    retries,
  });
  for (const file of given) await loadFile(mocha, resolve(file));
  const again: string[] = [];
  const runner = mocha.run(failures => {
    const { passes = 0, pending = 0 } = runner.stats ?? {};
    for (const title of again) console.log(`  note: needed a second try: ${title}`);
    report({ passed: passes, failed: failures, skipped: pending });
    process.disconnect?.();
    process.exitCode = failures > 0 ? 1 : 0;
    // A lane that leaks would run for ever. The timer itself keeps nothing alive.
    setTimeout(() => {
      console.log(`  note: still open after the tests: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit();
    }, 5_000).unref();
  });
  runner.on('retry', (test: Mocha.Test, error: Error) =>
    again.push(`${test.fullTitle()} (${error.message.split('\n')[0]})`),
  );
  runner.on('test', () => (judged.failed = false));
  for (const verdict of ['retry', 'fail'] as const) runner.on(verdict, () => (judged.failed = true));
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));

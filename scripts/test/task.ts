import { spawn, type ChildProcess } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { relative } from 'node:path';
import { ROOT } from '../start/system.ts';
import type { LaneOrder, LaneReport, LaneResult } from './lane.ts';

/** One thing `npm test` runs: a check counts as one test, a lane as many as mocha says. */
export interface Task {
  name: string;
  args: string[];
  /** The files that a lane takes one after the other; lanes that share them take from the same. None: a check. */
  files?: string[];
  /** It is stopped and has failed when it, or a file of it, takes longer. */
  limitMs: number;
}

/** Takes what is to be read, line ends included. */
export type Say = (text: string) => unknown;

const NOTHING: LaneResult = { passed: 0, failed: 0, skipped: 0 };

/** Kills a child that takes too long: `again` begins to count anew, for something with a name. */
const watch = (child: ChildProcess, task: Task, say: Say): { again: (what: string) => void; stop: () => void } => {
  let limit: NodeJS.Timeout | undefined;
  const again = (what: string): void => {
    clearTimeout(limit);
    limit = setTimeout(() => {
      say(`\n${task.name} was stopped after ${task.limitMs / 1000} s${what}.\n`);
      child.kill('SIGKILL');
    }, task.limitMs);
  };
  again('');
  return { again, stop: () => clearTimeout(limit) };
};

/** A lane that ends before it said so has failed in a file that nobody heard of. */
const outcome = (task: Task, code: number | null, told: LaneReport | undefined): LaneResult => {
  if (!task.files) return { ...NOTHING, [code === 0 ? 'passed' : 'failed']: 1 };
  const { passed, failed, skipped, done } = told ?? { ...NOTHING, done: false };
  return { passed, failed: done ? failed : failed + 1, skipped };
};

/**
 * Runs a task in a process of its own. Its output goes through live, or at the end in one piece when others run beside
 * it. A lane that dies or hangs in a file counts that as one failed test, and leaves the files that it has not taken.
 */
export const runTask = (task: Task, live: boolean, say: Say): Promise<LaneResult> =>
  new Promise(resolve => {
    const begun = performance.now();
    const child = spawn(process.execPath, task.args, {
      cwd: ROOT,
      stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe', 'ipc'],
      env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
    });
    // What only computes gives way to what is judged by the clock and by ear.
    if (!task.files && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const output: Buffer[] = [];
    child.stdout?.on('data', (data: Buffer) => output.push(data));
    child.stderr?.on('data', (data: Buffer) => output.push(data));
    const patience = watch(child, task, say);
    let [told, current]: [LaneReport | undefined, string | undefined] = [undefined, undefined];
    let taken = 0;
    child.on('message', (report: LaneReport) => {
      told = report;
      if (report.done) return;
      current = task.files?.shift();
      taken += current === undefined ? 0 : 1;
      patience.again(current === undefined ? ' behind its last file' : ` in ${relative(ROOT, current)}`);
      child.send({ file: current } satisfies LaneOrder, () => undefined); // it died meanwhile: `close` tells
    });
    child.on('close', code => {
      patience.stop();
      const result = outcome(task, code, told);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      if (task.files && !told?.done)
        say(
          `\n${task.name} died ${current === undefined ? 'behind its last file' : `in ${relative(ROOT, current)}`}.\n`,
        );
      const files = task.files ? `: ${taken} file${taken === 1 ? '' : 's'}` : '';
      say(`${result.failed > 0 ? '✗' : '✓'} ${task.name}${files} (${seconds} s)\n`);
      if (output.length > 0) say(Buffer.concat(output).toString());
      resolve(result);
    });
  });

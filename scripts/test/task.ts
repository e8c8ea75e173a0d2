import { spawn } from 'node:child_process';
import { ROOT } from '../start/system.ts';
import type { LaneResult } from './lane.ts';

/** One thing `npm test` runs: a check counts as one test, a lane as many as mocha says. */
export interface Task {
  name: string;
  args: string[];
  kind: 'check' | 'lane';
  /** It is stopped and has failed after this long. */
  limitMs: number;
}

const finish = (task: Task, code: number | null, told: LaneResult | undefined): LaneResult => {
  if (told) return told;
  const ok = code === 0 && task.kind === 'check';
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
};

/**
 * Runs a task in a process of its own. Its output goes through live, or at the end in one piece when others run beside
 * it. A lane that dies or hangs without a result counts as one failed test.
 */
export const runTask = (task: Task, live: boolean): Promise<LaneResult> =>
  new Promise(resolve => {
    const begun = performance.now();
    const child = spawn(process.execPath, task.args, {
      cwd: ROOT,
      stdio: ['ignore', live ? 'inherit' : 'pipe', live ? 'inherit' : 'pipe', 'ipc'],
      env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
    });
    const output: Buffer[] = [];
    child.stdout?.on('data', (data: Buffer) => output.push(data));
    child.stderr?.on('data', (data: Buffer) => output.push(data));
    let told: LaneResult | undefined;
    child.on('message', message => (told = message as LaneResult));
    const limit = setTimeout(() => {
      console.log(`\n${task.name} was stopped after ${task.limitMs / 1000} s.`);
      told = undefined;
      child.kill('SIGKILL');
    }, task.limitMs);
    child.on('close', code => {
      clearTimeout(limit);
      const result = finish(task, code, told);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      console.log(`${result.failed > 0 ? '✗' : '✓'} ${task.name} (${seconds} s)`);
      if (output.length > 0) process.stdout.write(Buffer.concat(output));
      resolve(result);
    });
  });

import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** A process that cannot be confused with a later one of the same number: its pid and when the kernel started it. */
export interface ProcessMark {
  pid: number;
  started: string;
}

const readProc = (pid: number, file: string): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // gone, not ours to read, or a system without /proc
  }
};

const statFields = (pid: number): string[] | undefined =>
  readProc(pid, 'stat')
    ?.replace(/^.*\) /s, '')
    .split(' ');

/** True while a process with this number runs (a zombie does not). */
export const isRunning = (pid: number): boolean => {
  const state = statFields(pid)?.[0];
  if (state !== undefined) return state !== 'Z' && state !== 'X';
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Marks a running process; `started` is empty where the system has no /proc. */
export const markOf = (pid: number): ProcessMark => ({ pid, started: statFields(pid)?.[19] ?? '' });

/** True while exactly the marked process runs. */
export const isSameProcess = (mark: ProcessMark): boolean =>
  isRunning(mark.pid) && markOf(mark.pid).started === mark.started;

/** What a process was started with, for sentences and for telling ours from another's. */
export const commandLineOf = (pid: number): string => readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim() ?? '';

/** The folder a process works in, or `undefined` when it may not be asked. */
export const workingFolderOf = (pid: number): string | undefined => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // gone, or not ours to look at
  }
};

/** Waits until the process is gone. Resolves false when it still runs after `timeoutMs`. */
export const waitGone = async (pid: number, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while (isRunning(pid)) {
    if (performance.now() > deadline) return false;
    await wait(20);
  }
  return true;
};

/** Sends a signal; a process that is already gone is what the caller wanted. */
const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** Stops a process that is no child of ours: each signal in turn, each with its time in milliseconds. */
export const stopForeign = async (pid: number, steps: [NodeJS.Signals, number][]): Promise<boolean> => {
  for (const [name, timeoutMs] of steps) {
    signal(pid, name);
    if (await waitGone(pid, timeoutMs)) return true;
  }
  return false;
};

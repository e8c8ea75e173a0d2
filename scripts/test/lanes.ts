import { basename, join } from 'node:path';
import { ROOT } from '../start/system.ts';
import type { LaneResult } from './lane.ts';
import { runTask, type Say, type Task } from './task.ts';

/** A file that takes longer is stopped. */
const FILE_LIMIT_MS = 300_000;

/** Files that take long, the longest first. They begin first, so that no lane has one of them left when the others are through. */
const LONG = [
  ...['how-calls-end', 'transfer', 'amd', 'carrier-in', 'refer', 'recording', 'api-call', 'groupcalls', 'carrier-out'],
  ...['media-stream', 'conference', 'attack', 'call-controls', 'foreign-phones', 'conference-stream', 'browser-phone'],
  ...['conference-recording', 'number', 'early-media', 'registration', 'guard', 'conference-races', 'secure-media'],
  ...['who-may-call-out', 'simulated-flows', 'transfer-races'],
  ...['start', 'two-nodes', 'stores', 'killed', 'every-state'],
  ...['permissions', 'contact-watch', 'carrier-registration', 'storage-files', 'carriers', 'webhook', 'websocket'],
  ...['transcripts', 'audio-fork-back', 'audio-fork', 'audio', 'conference-sounds', 'hostile', 'wideband'],
];
const rank = (file: string): number => {
  const at = LONG.indexOf(basename(file, '.test.ts'));
  return at < 0 ? LONG.length : at;
};

/** The files in the order in which lanes had best begin them. */
export const longestFirst = (files: string[]): string[] => [...files].sort((a, b) => rank(a) - rank(b));

/** Lanes beside each other that take their files from one heap, so that none stands idle while there is one left; `more` goes to lane.ts. */
export const lanes = (name: string, files: string[], count: number, more: string[]): Task[] => {
  const heap = [...files];
  return Array.from({ length: Math.min(count, files.length) }, (_, at) => ({
    name: count > 1 ? `${name} ${at + 1} of ${count}` : name,
    args: ['--import', 'tsx', join(ROOT, 'scripts/test/lane.ts'), ...more],
    files: heap,
    limitMs: FILE_LIMIT_MS,
  }));
};

/** Runs a task, and once more a lane that died in a file while there are others, which it leaves to nobody else. */
const runToTheEnd = async (task: Task, live: boolean, say: Say): Promise<LaneResult[]> => {
  const results: LaneResult[] = [];
  const left = (): number => task.files?.length ?? 0;
  for (let before = Infinity; left() < before && (!task.files || left() > 0);) {
    before = left();
    results.push(await runTask(task, live, say));
  }
  return results;
};

interface RunOptions {
  /** How many tasks run at once. */
  width: number;
  /** Their output goes through as it comes. */
  live?: boolean;
  say?: Say;
}

/** Runs the tasks in their order, some beside each other. */
export const runTasks = async (tasks: Task[], options: RunOptions): Promise<LaneResult[]> => {
  const { width, live = false, say = text => process.stdout.write(text) } = options;
  const waiting = [...tasks];
  const results: LaneResult[] = [];
  const worker = async (): Promise<void> => {
    for (let task = waiting.shift(); task; task = waiting.shift())
      results.push(...(await runToTheEnd(task, live, say)));
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
};

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSameProcess, stopForeign, type ProcessMark } from './processes.ts';

/** What a start remembers for the next one: which processes it began, and the loopback ports it gave them. */
export interface RunFile {
  processes: Record<string, ProcessMark>;
  ports: Record<string, number>;
}

const pathOf = (dataDir: string): string => join(dataDir, 'run.json');

/** Writes DATA_DIR/run.json, readable by its owner alone. */
export const writeRunFile = (dataDir: string, run: RunFile): void =>
  writeFileSync(pathOf(dataDir), `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 });

const readRunFile = (dataDir: string): RunFile | undefined => {
  try {
    return JSON.parse(readFileSync(pathOf(dataDir), 'utf8')) as RunFile;
  } catch {
    return undefined; // the first start, or one that died while it wrote
  }
};

/** Forgets the run after everything was stopped in order. */
export const removeRunFile = (dataDir: string): void => rmSync(pathOf(dataDir), { force: true });

/** Stops processes an earlier start left behind (where the kernel could not tie their lives to its own). */
export const stopLeftBehind = async (dataDir: string, note: (text: string) => void): Promise<void> => {
  const left = Object.entries(readRunFile(dataDir)?.processes ?? {}).filter(([, mark]) => isSameProcess(mark));
  for (const [name, mark] of left) {
    note(`stopping ${name} (process ${mark.pid}), which an earlier start left running`);
    await stopForeign(mark.pid, [
      ['SIGTERM', 5_000],
      ['SIGKILL', 5_000],
    ]);
  }
};

import { setTimeout as pause } from 'node:timers/promises';

/** What an engine says it holds, and what it turned away; it writes that to its log on SIGUSR2. */
export const engineAccount = async (pid: number, lines: () => readonly string[]): Promise<Record<string, number>> => {
  const told = (): string[] => lines().filter(line => line.includes('"msg":"holds"'));
  const before = told().length;
  process.kill(pid, 'SIGUSR2');
  while (told().length === before) await pause(20);
  return JSON.parse(/\{.*\}/.exec(told().at(-1) ?? '')?.[0] ?? '{}') as Record<string, number>;
};

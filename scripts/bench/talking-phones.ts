import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What phones have heard of each other since they were told to begin. */
export interface Report {
  /** By how much they themselves were late to speak at worst. */
  late_ms: number;
  packets: number;
  /** Frames that are missing or came twice in what the other side said. */
  lost: number;
  doubled: number;
  /** Packets within 5 ms of their time. */
  on_time: number;
}

/** Phones in a process of their own that number their frames: one description each, and what they are told. */
export interface TalkingPhones {
  sdps: string[];
  /** Takes the answers to their descriptions, in the same order; from then on they talk. */
  talkTo(answers: string[]): void;
  /** Forgets what was counted. */
  begin(): void;
  report(): Promise<Report>;
  close(): void;
}

/** Starts them; resolves when all have their ports. */
export const openPhones = async (count: number): Promise<TalkingPhones> => {
  const script = fileURLToPath(new URL('./numbering-phones.ts', import.meta.url));
  const child = fork(script, [String(count)], { execArgv: ['--import', 'tsx'] });
  const hear = async <T>(): Promise<T> => ((await once(child, 'message')) as [T])[0];
  return {
    sdps: await hear<string[]>(),
    talkTo: answers => void child.send(answers),
    begin: () => void child.send('begin'),
    report: async () => {
      child.send('report');
      return await hear<Report>();
    },
    close: () => void child.kill(),
  };
};

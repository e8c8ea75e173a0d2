import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';
import type { Stack } from '../../test/support/stack.ts';

/** What a process takes: resident memory, and with an inspector what its heap holds after garbage is gone; both MB. */
export interface Memory {
  resident: number;
  heap: number;
}

/** Environment of processes whose heap can be read; with a small one a process that held what strangers send would die. */
export const readableHeap = (heap_mb: number): Record<string, string> => ({
  NODE_OPTIONS: `--max-old-space-size=${heap_mb} --inspect=127.0.0.1:0`,
});

const MB = 2 ** 20;

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** The inspector of a process, as it said when it started; our processes alone have one. */
const inspectorOf = (stack: Stack, label: string): string | undefined =>
  stack
    .logs()
    .map(line => new RegExp(`^${label} Debugger listening on (ws://\\S+)`).exec(line)?.[1])
    .findLast(url => url !== undefined);

/** Heap in use after two collections: the first lets finalizers run. NaN without inspector. */
const heapMb = async (url: string | undefined): Promise<number> => {
  if (url === undefined) return NaN;
  const socket = new WebSocket(url, { perMessageDeflate: false });
  const answers = new Map<number, (result: { usedSize: number }) => void>();
  socket.on('message', (data: Buffer) => {
    const { id, result } = JSON.parse(data.toString()) as { id: number; result: { usedSize: number } };
    answers.get(id)?.(result);
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const ask = (id: number, method: string) =>
    new Promise<{ usedSize: number }>(resolve => {
      answers.set(id, resolve);
      socket.send(JSON.stringify({ id, method }));
    });
  for (const id of [1, 2]) await ask(id, 'HeapProfiler.collectGarbage');
  const { usedSize } = await ask(3, 'Runtime.getHeapUsage');
  socket.terminate();
  return usedSize / MB;
};

/** The processes of a stack by name, without an engine that is not ours; Redis has no heap to look into. */
export const memoryOf = async (stack: Stack): Promise<Map<string, Memory>> => {
  const { processes, stores } = stack;
  const of: [name: string, pid: number, label?: string][] = [
    ['engine', processes.engine.pid, 'engine'],
    ['media-app', processes.mediaApp[0]?.pid ?? 0, 'media-app-1'],
    ['control-api', processes.controlApi.pid, 'control-api'],
    ['redis', stores.redis.pid],
  ];
  const ours = of.filter(([, pid]) => !Number.isNaN(pid));
  const read = ours.map(async ([name, pid, label]): Promise<[string, Memory]> => {
    const heap = await heapMb(label && inspectorOf(stack, label));
    return [name, { resident: residentMb(pid), heap }];
  });
  return new Map(await Promise.all(read));
};

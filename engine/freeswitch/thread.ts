import { Worker } from 'node:worker_threads';
// Held here, too: a native library that only a thread has is unloaded with it, before its buffers are freed by it.
import '../media/codecs/opus.ts';
import type { SipLog } from '../sip/log.ts';
import type { MediaServer, MediaServerConfig, MediaServerStats } from './server.ts';

/** What the thread is started with: everything that can be copied. */
export type ThreadConfig = Omit<MediaServerConfig, 'log'>;

/** What the thread is asked for. */
export type Asked = 'stats' | 'stop';

/** What the thread says. */
export type Said =
  | { kind: 'ready'; sipPort: number; eventSocketPort: number }
  | { kind: 'failed'; reason: string }
  | { kind: 'log'; level: keyof SipLog; fields: object; text: string }
  | { kind: 'stats'; stats: MediaServerStats }
  | { kind: 'stopped' };

/**
 * Starts the media server in a thread of its own, with its own heap: neither a flood of SIP nor the collection of its garbage
 * delays the 20 ms clock, and sound delays no signalling. The two meet over sockets only; what goes between the threads is the
 * log, the account and the order to stop. When the thread breaks down, so does the process.
 * @throws Error when a port cannot be bound
 */
export async function startMediaThread({ log, ...config }: MediaServerConfig): Promise<MediaServer> {
  const entry = new URL('./worker-entry.cjs', import.meta.url);
  const worker = new Worker(entry, { workerData: config satisfies ThreadConfig, execArgv: [] });
  worker.on('message', (said: Said) => said.kind === 'log' && log[said.level](said.fields, said.text));
  const first = await next(worker, 'ready', 'failed');
  if (first.kind === 'failed') {
    await worker.terminate();
    throw new Error(first.reason);
  }
  worker.on('error', breakDown);
  worker.on('exit', breakDown);
  return {
    sipPort: first.sipPort,
    eventSocketPort: first.eventSocketPort,
    stats: async () => (await ask(worker, 'stats', 'stats')).stats,
    stop: async () => {
      await ask(worker, 'stop', 'stopped');
      worker.off('exit', breakDown);
      await worker.terminate();
    },
  };
}

/** Nobody can go on without media: an exception that nobody catches ends the process, and its supervisor starts it again. */
function breakDown(why: unknown): never {
  throw why instanceof Error ? why : new Error(`the media thread has ended by itself with code ${String(why)}`);
}

type Word<Kind extends Said['kind']> = Extract<Said, { kind: Kind }>;

/** The next thing of this kind that the thread says. */
function next<Kind extends Said['kind']>(worker: Worker, ...kinds: Kind[]): Promise<Word<Kind>> {
  return new Promise((resolve, reject) => {
    const hear = (said: Said): void => {
      if (!kinds.some(kind => kind === said.kind)) return;
      worker.off('message', hear).off('error', reject);
      resolve(said as Word<Kind>);
    };
    worker.on('message', hear).on('error', reject);
  });
}

function ask<Kind extends Said['kind']>(worker: Worker, what: Asked, answer: Kind): Promise<Word<Kind>> {
  const answered = next(worker, answer);
  worker.postMessage(what);
  return answered;
}

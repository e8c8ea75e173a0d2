import { parentPort, workerData } from 'node:worker_threads';
import type { SipLog } from '../sip/log.ts';
import { startMediaServer } from './server.ts';
import type { Asked, Said, ThreadConfig } from './thread.ts';

const say = (said: Said): void => parentPort?.postMessage(said);

const logAs =
  (level: keyof SipLog) =>
  (fields: object, text: string): void =>
    say({ kind: 'log', level, fields, text });

/** The media server's thread: runs it until the thread that started it says stop. */
async function main(): Promise<void> {
  const log = { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') };
  const server = await startMediaServer({ ...(workerData as ThreadConfig), log });
  parentPort?.on('message', (asked: Asked) => {
    if (asked === 'stop') void server.stop().then(() => say({ kind: 'stopped' }));
    else void server.stats().then(stats => say({ kind: 'stats', stats }));
  });
  say({ kind: 'ready', sipPort: server.sipPort, eventSocketPort: server.eventSocketPort });
}

main().catch((error: unknown) =>
  say({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
);

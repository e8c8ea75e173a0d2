import { readdirSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { startStack } from '../../test/support/stack.ts';
import { engineAccount } from './engine-account.ts';
import { startBare } from './systems.ts';

/** Figures by name, such as `engine dialogs` or `media-app MB`. */
export type Reading = Record<string, number>;

/** What is called many times, and what it holds. */
export interface SoakTarget {
  sip: { host: string; port: number };
  domain: string;
  number: string;
  /** What is open, and memory in MB; that of the engine without what is garbage already. */
  read(): Promise<Reading>;
  stop(): Promise<void>;
}

/** Node's collector at our command: the engine then tells what it holds after a collection. */
const WITH_COLLECTOR = ['sh', '-c', 'exec "$0" --expose-gc "$@"'];
const COUNTS = ['dialogs', 'transactions', 'channels', 'rtp_ports'];
const KEPT: Record<string, string> = {
  sip_heap_mb: 'SIP heap MB',
  sip_buffers_mb: 'SIP buffers MB',
  media_heap_mb: 'media heap MB',
  media_buffers_mb: 'media buffers MB',
};

const processHolds = (name: string, pid: number): Reading => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    [`${name} files and sockets`]: readdirSync(`/proc/${pid}/fd`).length,
    [`${name} resident MB`]: Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024),
  };
};

const engineHolds = async (pid: number, lines: () => readonly string[]): Promise<Reading> => {
  const said = await engineAccount(pid, lines);
  return {
    ...Object.fromEntries(COUNTS.map(name => [`engine ${name}`, said[name] ?? NaN])),
    ...Object.fromEntries(Object.entries(KEPT).map(([name, title]) => [`engine ${title}`, said[name] ?? NaN])),
    ...processHolds('engine', pid),
  };
};

/** Keys that stay for ever, those that go by themselves, and what Redis holds in MB. */
const redisHolds = async (redis: Redis): Promise<Reading> => {
  const keys = await redis.keys('*');
  const ttls = await Promise.all(keys.map(key => redis.ttl(key)));
  const bytes = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const lasting = ttls.filter(ttl => ttl === -1).length;
  return {
    'redis keys': lasting,
    'redis keys with an end': keys.length - lasting,
    'redis MB': Math.round(bytes / 2 ** 20),
  };
};

/** The embedded engine and a script that answers with a tone: the most calls a second, and nothing else to be seen. */
export const engineAlone = async (): Promise<SoakTarget> => {
  const lines: string[] = [];
  const bare = await startBare({ through: WITH_COLLECTOR, onLine: line => lines.push(line), logLevel: 'info' });
  const { sip, domain, number, enginePid } = bare;
  return { sip, domain, number, read: () => engineHolds(enginePid, () => lines), stop: () => bare.stop() };
};

/** The whole platform, and its welcome number. */
export const platform = async (): Promise<SoakTarget> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'info' }, engineThrough: WITH_COLLECTOR });
  const redis = new Redis(stack.redisUrl);
  const { engine, mediaApp, controlApi } = stack.processes;
  const engineLines = (): string[] => stack.logs().filter(line => line.startsWith('engine '));
  return {
    sip: stack.sip,
    domain: 'sip.trunkline.localhost',
    number: stack.welcome.number,
    read: async () => ({
      ...(await engineHolds(engine.pid, engineLines)),
      ...(await redisHolds(redis)),
      ...processHolds('media-app', mediaApp[0]?.pid ?? 0),
      ...processHolds('control-api', controlApi.pid),
    }),
    stop: async () => {
      await redis.quit();
      await stack.stop();
    },
  };
};

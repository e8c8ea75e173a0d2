import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Child } from './child.ts';
import { StartError } from './config.ts';
import { findProgram } from './install.ts';
import { freePorts } from './ports.ts';
import { isRunning, stopForeign, workingFolderOf } from './processes.ts';

export interface RunningRedis {
  /** Address with password. */
  url: string;
  password: string;
  port: number;
  pid: number;
  /** Resolves when the server ends, wanted or not. */
  exited: Promise<unknown>;
  /** Ends it after the append-only file is on disk. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface RedisOptions {
  /** Folder that gets `redis/` with the append-only file. */
  dataDir: string;
  /** Loopback port; a free one when not given. */
  port?: number;
  /** A new one when not given. */
  password?: string;
  note?: (text: string) => void;
  onLine?: (line: string) => void;
  /** When the append-only file reaches the disk: `always` (default) before a command is answered. */
  fsync?: 'always' | 'everysec' | 'no';
}

/** The password travels on standard input, where a list of processes does not show it. */
const configuration = (folder: string, port: number, password: string, fsync: string): string =>
  [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${folder}"`,
    `pidfile "${join(folder, 'redis.pid')}"`,
    'daemonize no',
    'appendonly yes',
    `appendfsync ${fsync}`,
    'aof-load-truncated yes',
    'save ""',
    'maxmemory-policy noeviction',
    'loglevel notice',
    '',
  ].join('\n');

/** Ends a server that an earlier start left behind, so that two never write one append-only file. */
const stopStale = async (folder: string, note: (text: string) => void): Promise<void> => {
  const file = join(folder, 'redis.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').trim());
  if (!Number.isInteger(pid) || pid <= 1 || !isRunning(pid) || workingFolderOf(pid) !== realpathSync(folder))
    return rmSync(file, { force: true });
  note(`stopping a Redis that an earlier start left running (process ${pid})`);
  if (
    await stopForeign(pid, [
      ['SIGTERM', 10_000],
      ['SIGKILL', 5_000],
    ])
  )
    return;
  throw new StartError(`An earlier Redis (process ${pid}) on ${folder} does not stop: end it with kill -9 ${pid}.`);
};

/** Starts Debian's redis-server on loopback with an append-only file. Throws a StartError with a sentence. */
export const startRedis = async (options: RedisOptions): Promise<RunningRedis> => {
  const program = findProgram('redis-server');
  if (program === undefined)
    throw new StartError('redis-server is missing: apt-get install redis-server, or set REDIS_URL.');
  const folder = join(resolve(options.dataDir), 'redis');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await stopStale(folder, options.note ?? (() => undefined));
  const port = options.port ?? (await freePorts(1))[0] ?? 0;
  const password = options.password ?? randomBytes(24).toString('base64url');
  const input = configuration(folder, port, password, options.fsync ?? 'always');
  const child = await Child.startUntil(
    { command: program, args: ['-'], cwd: folder, input, stopSignal: 'SIGTERM', onLine: options.onLine },
    line => line.includes('Ready to accept connections'),
    120_000,
  ).catch((error: Error) => {
    throw new StartError(`Redis did not start. ${error.message}`);
  });
  const url = `redis://:${password}@127.0.0.1:${port}`;
  return {
    url,
    password,
    port,
    pid: child.pid,
    exited: child.exited,
    stop: () => child.stop(20_000),
    kill: () => child.kill(),
  };
};

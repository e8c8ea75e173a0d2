import { randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { Child } from './child.ts';
import { StartError } from './config.ts';
import { freePorts } from './ports.ts';
import {
  canTraverse,
  postgresBinaries,
  postgresUser,
  reachableFolder,
  type PostgresBinaries,
  type PostgresUser,
} from './postgres-binaries.ts';
import { commandLineOf, isRunning, stopForeign, workingFolderOf } from './processes.ts';

export interface RunningPostgres {
  /** Address of the database `trunkline`, password included. */
  url: string;
  port: number;
  pid: number;
  /** Resolves when the server ends, wanted or not. */
  exited: Promise<unknown>;
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>;
  /** SIGKILL; what was committed is still there after the next start. */
  kill(): Promise<void>;
}

export interface PostgresOptions {
  /** Folder that gets the cluster (`postgres/`) and its password (`postgres-password`, mode 0600). */
  dataDir: string;
  /** Loopback port; a free one when not given. */
  port?: number;
  /** Told of anything an operator may wonder about. */
  note?: (text: string) => void;
  /** Every line PostgreSQL logs. */
  onLine?: (line: string) => void;
  /** More `name=value` settings, for tests that give up durability for speed. */
  settings?: string[];
}

const NAME = 'trunkline';
const START_TIMEOUT_MS = 60_000;

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'fsync=on',
  'synchronous_commit=on',
  'max_connections=200',
  'logging_collector=off',
  'log_timezone=UTC',
  'timezone=UTC',
];

/**
 * A cluster whose password is gone belongs to a data folder that somebody deleted to begin anew. Outside that folder it
 * is put aside; inside, deleting half of a folder is a mistake to ask about.
 */
const refuseStrayCluster = (dataDir: string, cluster: string, note: (text: string) => void): void => {
  if (!existsSync(cluster) || existsSync(join(dataDir, 'postgres-password'))) return;
  if (cluster === join(resolve(dataDir), 'postgres'))
    throw new StartError(
      `${cluster} is there but its password, ${join(dataDir, 'postgres-password')}, is not: put it back, or delete the whole data folder.`,
    );
  const aside = `${cluster}.of-deleted-data-folder-${Date.now()}`;
  renameSync(cluster, aside);
  note(`${resolve(dataDir)} is new; the database of the one before it lies in ${aside}`);
};

const readPassword = (dataDir: string): string => {
  const file = join(dataDir, 'postgres-password');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
};

/** Only our own folder is opened for passing through; what stands above it belongs to others. */
const clusterFolder = (dataDir: string, user: PostgresUser | undefined, note: (text: string) => void): string => {
  if (user) chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  if (canTraverse(dataDir, user)) return join(resolve(dataDir), 'postgres');
  const folder = reachableFolder(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  note(`the user postgres cannot reach ${resolve(dataDir)}; the database lies in ${folder}/postgres`);
  return join(folder, 'postgres');
};

const initdbArguments = (cluster: string, passwordFile: string): string[] => [
  `--pgdata=${cluster}`,
  `--username=${NAME}`,
  `--pwfile=${passwordFile}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

/** Makes the cluster beside its place and moves it there when it is whole, so that an interrupted start leaves no half of one. */
const makeCluster = async (
  binaries: PostgresBinaries,
  cluster: string,
  password: string,
  user?: PostgresUser,
): Promise<void> => {
  const fresh = `${cluster}.new`;
  const passwordFile = `${fresh}-password`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  try {
    if (user) for (const path of [fresh, passwordFile]) chownSync(path, user.uid, user.gid);
    await promisify(execFile)(binaries.initdb, initdbArguments(fresh, passwordFile), { ...user, cwd: '/' });
    renameSync(fresh, cluster);
  } finally {
    rmSync(passwordFile, { force: true });
  }
};

const isServerOf = (pid: number, cluster: string): boolean =>
  isRunning(pid) && (workingFolderOf(pid) === cluster || commandLineOf(pid).includes(cluster));

/** Ends a server that an earlier start left behind, so that two never share a cluster. */
const stopStale = async (cluster: string, note: (text: string) => void): Promise<void> => {
  const file = join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1) return rmSync(file, { force: true });
  if (!isServerOf(pid, cluster)) return rmSync(file, { force: true });
  note(`stopping a PostgreSQL that an earlier start left running (process ${pid})`);
  if (
    await stopForeign(pid, [
      ['SIGINT', 15_000],
      ['SIGQUIT', 5_000],
      ['SIGKILL', 5_000],
    ])
  )
    return;
  throw new StartError(
    `An earlier PostgreSQL (process ${pid}) on ${cluster} does not stop: end it with kill -9 ${pid}.`,
  );
};

/** After a kill -9 of the server its own children need a moment to let go of the shared memory. */
const startServer = async (start: () => Promise<Child>): Promise<Child> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      const again = attempt < 40 && /shared memory block|could not bind|lock file/.test(String(error));
      if (!again) throw new StartError(`PostgreSQL did not start. ${(error as Error).message}`);
      await wait(250);
    }
  }
};

const makeDatabase = async (address: string): Promise<void> => {
  const client = new pg.Client({ connectionString: `${address}/postgres` });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [NAME]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${NAME}`);
  } finally {
    await client.end();
  }
};

/**
 * Starts the embedded PostgreSQL on loopback, making its cluster and the database `trunkline` when they are missing.
 * As root it runs as the user `postgres`, in a folder that user can reach. Throws a StartError with a sentence.
 */
export const startPostgres = async (options: PostgresOptions): Promise<RunningPostgres> => {
  const note = options.note ?? (() => undefined);
  const user = postgresUser();
  const binaries = await postgresBinaries(user, note);
  mkdirSync(options.dataDir, { recursive: true, mode: 0o711 });
  const cluster = clusterFolder(options.dataDir, user, note);
  await stopStale(cluster, note);
  refuseStrayCluster(options.dataDir, cluster, note);
  const password = readPassword(options.dataDir);
  if (!existsSync(join(cluster, 'PG_VERSION'))) await makeCluster(binaries, cluster, password, user);
  const port = options.port ?? (await freePorts(1))[0] ?? 0;
  const flags = [...SETTINGS, ...(options.settings ?? [])].flatMap(setting => ['-c', setting]);
  const args = ['-D', cluster, '-p', String(port), ...flags];
  const env = { PATH: process.env['PATH'], LC_MESSAGES: 'C' };
  const run = {
    command: binaries.postgres,
    args,
    cwd: '/',
    env,
    stopSignal: 'SIGINT' as const,
    onLine: options.onLine,
    ...user,
  };
  const child = await startServer(() =>
    Child.startUntil(run, line => line.includes('ready to accept connections'), START_TIMEOUT_MS),
  );
  const address = `postgres://${NAME}:${password}@127.0.0.1:${port}`;
  await makeDatabase(address);
  return {
    url: `${address}/${NAME}`,
    port,
    pid: child.pid,
    exited: child.exited,
    stop: () => child.stop(20_000),
    kill: () => child.kill(),
  };
};

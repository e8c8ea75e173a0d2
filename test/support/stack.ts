import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';

import { keys } from '#contract/keys';
import type { Welcome } from '#contract/welcome';
import { anyRunning, type Child } from '../../scripts/start/child.ts';
import { readSettings, type Settings } from '../../scripts/start/config.ts';
import { untilHealthy } from '../../scripts/start/health.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { startPostgres, type RunningPostgres } from '../../scripts/start/postgres.ts';
import { startRedis } from '../../scripts/start/redis.ts';
import { environments, localUrl, newEngineAccess, startProcess, type ProcessName } from '../../scripts/start/system.ts';
import { stopAfterTheLast } from '../../scripts/test/shared.ts';
import { eventually } from './eventually.ts';
import { NO_LIMITS } from './no-limits.ts';
import { channelsOf, ownServers, type OwnServers } from './own-servers.ts';

/** One of our processes, which a test may kill and start again. */
export interface StackProcess {
  readonly pid: number;
  /** kill -9; resolves when it is gone. */
  kill9(): Promise<void>;
  /** Stops it in order when it runs, and starts it again with the same environment. Does not wait for health. */
  restart(): Promise<void>;
  /** Stops it in order. */
  stop(): Promise<void>;
}

/** JSON of any shape: a test looks into it and fails where it is not what it should be. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Loose = any;

export interface ApiAnswer<T = Loose> {
  status: number;
  headers: Headers;
  body: T;
}

/** The status and the reason of a refusal. */
export const refusalOf = ({ status, body }: ApiAnswer<unknown>): [number, string] => [
  status,
  (body as { error: { reason: string } }).error.reason,
];

/** The whole system on free ports, as real processes. */
export interface Stack {
  /** `http://127.0.0.1:port`, without /v1.0. */
  baseUrl: string;
  sip: { host: string; port: number };
  /** Ports of the other transports of SIP. */
  sipPorts: { tls: number; ws: number; wss: number };
  welcome: Welcome;
  processes: { engine: StackProcess; mediaApp: StackProcess[]; controlApi: StackProcess };
  /** Its Redis, and its PostgreSQL when it has one of its own. */
  stores: { redis: StackProcess; postgres: StackProcess | undefined };
  redisUrl: string;
  databaseUrl: string;
  dataDir: string;
  /** Calls the API (`path` after /v1.0, such as `/calls`) with the accesskey, or with other credentials in `headers`. */
  api<T = Loose>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer<T>>;
  /** Waits until GET /health is 200 again. */
  healthy(timeoutMs?: number): Promise<void>;
  /** Every line the processes wrote, each with the name of its process in front. */
  logs(): string[];
  /** What the media server (and the engine's SIP side) has open now, such as `channels: 1`; finished transactions aside. */
  holds(): Promise<string[]>;
  /** Stops everything and fails when something is left behind. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** How many media-apps share the work. Default 1. */
  mediaApps?: number;
  /** More environment for every process. */
  env?: Record<string, string>;
  /** A command that runs the engine's behind it. */
  engineThrough?: readonly string[];
  /** A PostgreSQL of its own, which may be killed; else it shares that of the run. */
  ownPostgres?: boolean;
}

const READY_TIMEOUT_MS = 30_000;

/** Where the RTP ports of stacks begin: a range holds no port that another process was given and does not listen on yet. */
const RTP_RANGES = [10_000, 19_000] as const;

let postgres: Promise<RunningPostgres> | undefined;
let postgresDir: string | undefined;
let databaseCount = 0;
let shared: Promise<Stack> | undefined;

/** A new folder of our own; whoever asks removes it. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'trunkline-test-'));

/** One PostgreSQL for all stacks of a mocha run; each stack gets a database of its own. */
export const newDatabase = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  postgresDir ??= temporaryFolder();
  const server = await (postgres ??= startPostgres({ dataDir: postgresDir }));
  const name = `stack_${process.pid}_${(databaseCount += 1)}`;
  const run = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`) };
};

/** A process of ours that a test may kill and start again as it was. */
export class ManagedProcess implements StackProcess {
  private child: Child;
  private readonly name: ProcessName;
  private readonly environment: Record<string, string>;
  private readonly onLine: (line: string) => void;
  private readonly through: readonly string[];
  readonly pids: number[] = [];

  constructor(
    name: ProcessName,
    environment: Record<string, string>,
    onLine: (line: string) => void,
    through: readonly string[] = [],
  ) {
    this.name = name;
    this.environment = environment;
    this.onLine = onLine;
    this.through = through;
    this.child = this.start();
  }

  private start(): Child {
    this.child = startProcess(this.name, this.environment, this.onLine, this.through);
    this.pids.push(this.child.pid);
    return this.child;
  }

  get pid(): number {
    return this.child.pid;
  }

  kill9(): Promise<void> {
    return this.child.kill();
  }

  stop(): Promise<void> {
    return this.child.stop();
  }

  async restart(): Promise<void> {
    await this.child.stop();
    this.start();
  }
}

interface RunningStore {
  pid: number;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** A store that starts again on the port and the files it had. */
class ManagedStore implements StackProcess {
  private running: RunningStore;
  private readonly start: () => Promise<RunningStore>;
  readonly pids: number[];

  constructor(running: RunningStore, start: () => Promise<RunningStore>) {
    this.running = running;
    this.start = start;
    this.pids = [running.pid];
  }

  get pid(): number {
    return this.running.pid;
  }

  kill9(): Promise<void> {
    return this.running.kill();
  }

  stop(): Promise<void> {
    return this.running.stop();
  }

  async restart(): Promise<void> {
    await this.running.stop();
    this.running = await this.start();
    this.pids.push(this.running.pid);
  }
}

/** A Redis in the folder of a stack. */
export const newRedis = async (
  dataDir: string,
  onLine: (line: string) => void,
): Promise<{ url: string; store: ManagedStore }> => {
  const first = await startRedis({ dataDir, onLine });
  const { url, port, password } = first;
  return { url, store: new ManagedStore(first, () => startRedis({ dataDir, onLine, port, password })) };
};

/** A PostgreSQL for one stack alone; its folder is one that the user postgres can reach. */
const ownPostgres = async (): Promise<{ url: string; drop: () => Promise<void>; store: ManagedStore }> => {
  const dataDir = temporaryFolder();
  const first = await startPostgres({ dataDir });
  const { url, port } = first;
  return {
    url,
    drop: () => Promise.resolve(rmSync(dataDir, { recursive: true, force: true })),
    store: new ManagedStore(first, () => startPostgres({ dataDir, port })),
  };
};

const settingsFor = async (dataDir: string, env: Record<string, string>): Promise<Settings> => {
  const [http = 0, sip = 0, tls = 0, ws = 0, wss = 0] = await freePorts(5);
  const [low = 0] = await freePorts(1, RTP_RANGES);
  return readSettings({
    HTTP_PORT: String(http),
    SIP_PORT: String(sip),
    SIP_TLS_PORT: String(tls),
    SIP_WS_PORT: String(ws),
    SIP_WSS_PORT: String(wss),
    RTP_PORTS: `${low}-${low + 600}`,
    DATA_DIR: dataDir,
    ALLOW_PRIVATE_TARGETS: 'yes',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'info',
    ...ownServers(),
    ...env,
  });
};

/** The engine's own account of what is open, which it writes to its log on SIGUSR2. */
export const engineHolds = async (engine: StackProcess, lines: string[], label = 'engine'): Promise<string[]> => {
  const accounts = () => lines.filter(line => line.startsWith(`${label} `) && line.includes('"msg":"holds"'));
  const before = accounts().length;
  process.kill(engine.pid, 'SIGUSR2');
  const seen = await eventually('the engine’s account', accounts, told => told.length > before);
  const account = JSON.parse((seen.at(-1) ?? '').replace(/^\S+ /, '')) as Record<string, number>;
  return ['dialogs', 'channels', 'rtp_ports']
    .filter(name => account[name] !== 0)
    .map(name => `${name}: ${account[name]}`);
};

/** In place of the engine where servers of one's own are used: nobody may kill those. */
const notOurs = (): StackProcess => {
  const refuse = (): Promise<never> => Promise.reject(new Error('this test needs the embedded engine'));
  return { pid: NaN, kill9: refuse, restart: refuse, stop: refuse };
};

const holdsOf = (servers: OwnServers | undefined, engine: StackProcess, lines: string[]): Promise<string[]> =>
  servers ? channelsOf(servers) : engineHolds(engine, lines);

/** Asks the API with an accesskey, or with the headers that are given instead of it. */
export const callApi =
  (baseUrl: string, accesskey: string): Stack['api'] =>
  async (method, path, body, headers) => {
    const url = new URL(`${baseUrl}/v1.0${path}`);
    if (headers === undefined) url.searchParams.set('accesskey', accesskey);
    const response = await fetch(url, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as never };
  };

/** One media-app is enough for /health; a test that starts two wants both. */
const everyNode = async (redisUrl: string, count: number): Promise<void> => {
  const redis = new Redis(redisUrl);
  try {
    await eventually(
      'all media-apps at work',
      () => redis.scard(keys.nodes),
      nodes => nodes === count,
      READY_TIMEOUT_MS,
    );
  } finally {
    redis.disconnect();
  }
};

/** Credentials of somebody who runs the platform. */
export const superAdmin = async ({
  baseUrl,
  welcome: { username, password },
}: Stack): Promise<Record<string, string>> => {
  const response = await fetch(`${baseUrl}/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, password }),
  });
  const { token } = (await response.json()) as { token: string };
  return { Authorization: `Bearer ${token}` };
};

/**
 * Starts PostgreSQL (shared), a Redis, an engine, media-apps and control-api, and waits until /health is 200.
 * Rejects with the last log lines when it does not get well.
 */
export const startStack = async (options: StackOptions = {}): Promise<Stack> => {
  const dataDir = temporaryFolder();
  const lines: string[] = [];
  const servers = ownServers();
  const [settings, access, database, redis] = await Promise.all([
    settingsFor(dataDir, options.env ?? {}),
    servers ? undefined : newEngineAccess(),
    options.ownPostgres ? ownPostgres() : { store: undefined, ...(await newDatabase()) },
    newRedis(dataDir, line => lines.push(`redis ${line}`)),
  ]);
  const around = { databaseUrl: database.url, redisUrl: redis.url, ...(access ? { engine: access } : {}) };
  const env = environments(settings, around);
  const start = (name: ProcessName, label: string, through?: readonly string[]): ManagedProcess => {
    const environment = { ...env[name], ...NO_LIMITS, ...options.env };
    return new ManagedProcess(name, environment, line => lines.push(`${label} ${line}`), through);
  };
  const engine = servers ? undefined : start('engine', 'engine', options.engineThrough);
  const controlApi = start('control-api', 'control-api');
  const mediaApp = Array.from({ length: options.mediaApps ?? 1 }, (_, index) =>
    start('media-app', `media-app-${index + 1}`),
  );
  const all = [...mediaApp, controlApi, ...(engine ? [engine] : [])];
  const baseUrl = localUrl(settings);
  const healthy = async (timeoutMs = READY_TIMEOUT_MS): Promise<void> => {
    const health = await untilHealthy(baseUrl, { timeoutMs });
    if (!health.ready)
      throw new Error(
        `The stack is not well: ${health.detail}\n${lines
          .filter(line => !line.includes('GET /health'))
          .slice(-30)
          .join('\n')}`,
      );
  };
  const stop = async (): Promise<void> => {
    for (const one of all) await one.stop();
    await redis.store.stop();
    await database.store?.stop();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
    const pids = [...all, redis.store, ...(database.store ? [database.store] : [])].flatMap(one => one.pids);
    assert.deepEqual(anyRunning(pids), [], 'processes of the stack still run');
  };
  try {
    await healthy();
    await everyNode(redis.url, mediaApp.length);
    const welcome = JSON.parse(readFileSync(join(dataDir, 'welcome.json'), 'utf8')) as Welcome;
    return {
      baseUrl,
      sip: { host: settings.HOST, port: settings.SIP_PORT },
      sipPorts: {
        ...{ tls: Number(settings.SIP_TLS_PORT), ws: Number(settings.SIP_WS_PORT), wss: Number(settings.SIP_WSS_PORT) },
      },
      welcome,
      processes: { engine: engine ?? notOurs(), mediaApp, controlApi },
      stores: { redis: redis.store, postgres: database.store },
      redisUrl: redis.url,
      databaseUrl: database.url,
      dataDir,
      api: callApi(baseUrl, welcome.accesskey),
      healthy,
      logs: () => lines,
      holds: () => holdsOf(servers, engine ?? notOurs(), lines),
      stop,
    };
  } catch (error) {
    await stop().catch(() => undefined); // the first failure is the one to tell
    throw error;
  }
};

/** The stack that every test file in test/calls shares; started with the first call, stopped after the last test. */
export const sharedStack = (): Promise<Stack> => (shared ??= startStack());

/** Stops what the run shares. Registered once below; a script that is no mocha run calls it itself. */
export const stopShared = async (): Promise<void> => {
  const stack = await shared?.catch(() => undefined); // its failure was already the test's
  const server = await postgres?.catch(() => undefined);
  [shared, postgres] = [undefined, undefined];
  try {
    await stack?.stop();
  } finally {
    await server?.stop();
    if (postgresDir) rmSync(postgresDir, { recursive: true, force: true });
    postgresDir = undefined;
  }
};

stopAfterTheLast('the shared stack', stopShared);

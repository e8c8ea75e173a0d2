import { strict as assert } from 'node:assert';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Welcome } from '#contract/welcome';
import { anyRunning } from '../../scripts/start/child.ts';
import { untilHealthy } from '../../scripts/start/health.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { type Machine, newMachines } from './machines.ts';
import { NO_LIMITS } from './no-limits.ts';
import { callApi, engineHolds, ManagedProcess, newDatabase, newRedis, type Stack, temporaryFolder } from './stack.ts';

/** One machine with a SIP and media server and a media-app. */
export interface TestNode {
  engine: ManagedProcess;
  mediaApp: ManagedProcess;
  /** The id of the media-app that runs. */
  id: () => string;
  /** Where its phones register. */
  sip: { host: string; port: number };
}

/** A system of two machines. As a stack, its SIP server is that of the first. */
export interface TwoNodes extends Stack {
  nodes: [TestNode, TestNode];
  /** The address phones have in this network. */
  here: string;
}

const SECRET = 'between-machines';

/** The same ones on both machines. */
interface Ports {
  sip: number;
  admin: number;
  eventSocket: number;
  mediaSip: number;
}

const engineEnvironment = ({ address }: Machine, ports: Ports) => ({
  ...{ HOST: address, ENGINE_HOST: address, SIP_PORT: String(ports.sip), RTP_PORTS: '20000-20400' },
  ...{ SIP_TLS_PORT: 'off', SIP_WS_PORT: 'off', SIP_WSS_PORT: 'off' },
  ...{ ENGINE_ADMIN_PORT: String(ports.admin), ENGINE_ADMIN_SECRET: SECRET },
  ...{ ENGINE_EVENT_SOCKET_PORT: String(ports.eventSocket), ENGINE_EVENT_SOCKET_PASSWORD: SECRET },
  ENGINE_MEDIA_SIP_PORT: String(ports.mediaSip),
});

const all = (machines: Machine[], scheme: string, port: number): string =>
  machines.map(({ address }) => `${scheme}://${SECRET}@${address}:${port}`).join(',');

/** As it says when it is ready. */
const nodeIdOf = (label: string, lines: string[]): string => {
  const line = lines.findLast(one => one.startsWith(`${label} `) && one.includes('"msg":"ready"'));
  assert(line, `${label} is not ready`);
  return (JSON.parse(line.slice(label.length + 1)) as { node: string }).node;
};

/**
 * Starts two machines, each with an engine and a media-app that knows both engines, and a control-api, PostgreSQL and Redis
 * for both. Resolves when both media-apps are at work.
 */
export const startTwoNodes = async (env: Record<string, string> = {}): Promise<TwoNodes> => {
  const dataDir = temporaryFolder();
  const lines: string[] = [];
  const machines = newMachines(2);
  const [database, redis, free] = await Promise.all([
    newDatabase(),
    newRedis(dataDir, line => lines.push(`redis ${line}`)),
    freePorts(5),
  ]);
  const [httpPort = 0, sip = 0, admin = 0, eventSocket = 0, mediaSip = 0] = free;
  const ports = { sip, admin, eventSocket, mediaSip };
  const shared = { DATA_DIR: dataDir, LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'info', ...NO_LIMITS, ...env };
  const stores = { DATABASE_URL: await machines.reach(database.url), REDIS_URL: await machines.reach(redis.url) };
  const servers = {
    SIP_SERVERS: all(machines.list, 'drachtio', admin),
    MEDIA_SERVERS: all(machines.list, 'freeswitch', eventSocket),
  };
  const processes: ManagedProcess[] = [];
  const start = (...[name, environment, label, through]: Parameters<typeof startOne>) => {
    const started = startOne(name, { ...shared, ...environment }, label, through);
    processes.push(started);
    return started;
  };
  const startOne = (
    name: 'engine' | 'media-app' | 'control-api',
    environment: Record<string, string>,
    label: string,
    through: readonly string[] = [],
  ) => new ManagedProcess(name, environment, line => lines.push(`${label} ${line}`), through);
  const nodes = machines.list.map((machine, index): TestNode => {
    const { address, through } = machine;
    const mine = { HOST: address, EVENT_SOCKET_HOST: address, ALLOW_PRIVATE_TARGETS: 'yes' };
    return {
      engine: start('engine', engineEnvironment(machine, ports), `engine-${index + 1}`, through),
      mediaApp: start('media-app', { ...mine, ...stores, ...servers }, `media-app-${index + 1}`, through),
      id: () => nodeIdOf(`media-app-${index + 1}`, lines),
      sip: { host: address, port: sip },
    };
  });
  const api = { HTTP_PORT: String(httpPort), ALLOW_PRIVATE_TARGETS: 'yes' };
  const controlApi = start('control-api', { ...api, DATABASE_URL: database.url, REDIS_URL: redis.url }, 'control-api');
  const baseUrl = `http://127.0.0.1:${httpPort}`;
  const healthy = async (timeoutMs = 30_000): Promise<void> => {
    const health = await untilHealthy(baseUrl, { timeoutMs });
    assert(health.ready, `not well: ${health.ready || health.detail}\n${lines.slice(-30).join('\n')}`);
  };
  const stop = async (): Promise<void> => {
    for (const one of [...processes].reverse()) await one.stop();
    await redis.store.stop();
    await database.drop();
    await machines.remove();
    rmSync(dataDir, { recursive: true, force: true });
    const pids = [...processes, redis.store].flatMap(one => one.pids);
    assert.deepEqual(anyRunning(pids), [], 'processes of the two nodes still run');
  };
  const [one, two] = nodes;
  assert(one && two);
  try {
    await healthy();
    const ready = () => lines.filter(line => /^media-app-\d .*"msg":"ready"/.test(line)).length === 2;
    for (const until = Date.now() + 20_000; !ready() && Date.now() < until;)
      await new Promise(resolve => setTimeout(resolve, 20));
    assert(ready(), `both media-apps are ready\n${lines.slice(-30).join('\n')}`);
  } catch (error) {
    await stop().catch(() => undefined); // the first failure is the one to tell
    throw error;
  }
  const welcome = JSON.parse(readFileSync(join(dataDir, 'welcome.json'), 'utf8')) as Welcome;
  return {
    ...{ nodes: [one, two], here: machines.here, baseUrl, sip: one.sip, sipPorts: { tls: 0, ws: 0, wss: 0 }, welcome },
    processes: { engine: one.engine, mediaApp: [one.mediaApp, two.mediaApp], controlApi },
    stores: { redis: redis.store, postgres: undefined },
    ...{ redisUrl: redis.url, databaseUrl: database.url, dataDir, api: callApi(baseUrl, welcome.accesskey), healthy },
    logs: () => lines,
    holds: async () =>
      (await Promise.all(nodes.map((node, at) => engineHolds(node.engine, lines, `engine-${at + 1}`)))).flat(),
    stop,
  };
};

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from './child.ts';
import type { Settings } from './config.ts';
import { phoneServer } from './phone-address.ts';
import { freePorts } from './ports.ts';

/** Our three processes, in the order they start. */
export const PROCESS_NAMES = ['engine', 'media-app', 'control-api'] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];

/** The clone. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** How the embedded engine is reached from inside: loopback ports and secrets, new with every start. */
export interface EngineAccess {
  adminPort: number;
  adminSecret: string;
  eventSocketPort: number;
  eventSocketPassword: string;
  mediaSipPort: number;
}

/** Free ports and random secrets for an embedded engine. */
export const newEngineAccess = async (): Promise<EngineAccess> => {
  const [adminPort = 0, eventSocketPort = 0, mediaSipPort = 0] = await freePorts(3);
  const secret = (): string => randomBytes(18).toString('hex');
  return { adminPort, adminSecret: secret(), eventSocketPort, eventSocketPassword: secret(), mediaSipPort };
};

/** What the processes need beside the settings: addresses of the stores, and the engine's doors unless servers are given. */
export interface Surroundings {
  databaseUrl: string;
  redisUrl: string;
  engine?: EngineAccess;
}

type Environment = Record<string, string>;

/** `auto` was settled before; nobody who skips that gets a port by surprise. */
const portOrOff = (port: number | 'auto' | 'off'): string => (typeof port === 'number' ? String(port) : 'off');

const engineEnvironment = (settings: Settings, access: EngineAccess, redisUrl: string): Environment => ({
  SIP_TLS_PORT: portOrOff(settings.SIP_TLS_PORT),
  SIP_WS_PORT: portOrOff(settings.SIP_WS_PORT),
  SIP_WSS_PORT: portOrOff(settings.SIP_WSS_PORT),
  RTP_PORTS: settings.RTP_PORTS,
  ADVERTISED_ADDRESS: settings.ADVERTISED_ADDRESS ?? '',
  ENGINE_ADMIN_PORT: String(access.adminPort),
  ENGINE_ADMIN_SECRET: access.adminSecret,
  ENGINE_EVENT_SOCKET_PORT: String(access.eventSocketPort),
  ENGINE_EVENT_SOCKET_PASSWORD: access.eventSocketPassword,
  ENGINE_MEDIA_SIP_PORT: String(access.mediaSipPort),
  ENGINE_BANS_REDIS: redisUrl,
});

/** The environment of each process; `engine` is missing when servers of one's own are used. */
export const environments = (settings: Settings, around: Surroundings): Partial<Record<ProcessName, Environment>> => {
  const { engine } = around;
  const shared = {
    HOST: settings.HOST,
    SIP_PORT: String(settings.SIP_PORT),
    DATA_DIR: settings.DATA_DIR,
    SIP_DOMAIN: settings.SIP_DOMAIN,
    LOG_LEVEL: settings.LOG_LEVEL,
    ALLOW_PRIVATE_TARGETS: settings.ALLOW_PRIVATE_TARGETS,
  };
  const stores = { DATABASE_URL: around.databaseUrl, REDIS_URL: around.redisUrl };
  const servers = {
    SIP_SERVERS: engine
      ? `drachtio://${engine.adminSecret}@127.0.0.1:${engine.adminPort}`
      : (settings.SIP_SERVERS ?? ''),
    MEDIA_SERVERS: engine
      ? `freeswitch://${engine.eventSocketPassword}@127.0.0.1:${engine.eventSocketPort}`
      : (settings.MEDIA_SERVERS ?? ''),
  };
  const http = {
    HTTP_PORT: String(settings.HTTP_PORT),
    PUBLIC_URL: settings.PUBLIC_URL ?? '',
    PHONE_SERVER: phoneServer(settings),
    PHONE_TRANSPORT: settings.PHONE_TRANSPORT,
  };
  return {
    ...(engine ? { engine: { ...shared, ...engineEnvironment(settings, engine, around.redisUrl) } } : {}),
    'media-app': { ...shared, ...stores, ...servers },
    'control-api': { ...shared, ...stores, ...http },
  };
};

/** Starts one of our processes with its environment on top of ours; `through` is a command that runs the one behind it. */
export const startProcess = (
  name: ProcessName,
  environment: Environment,
  onLine: (line: string) => void,
  through: readonly string[] = [],
): Child => {
  const [command = '', ...args] = [...through, process.execPath, '--import', 'tsx', join(ROOT, name, 'main.ts')];
  const env = { ...process.env, ...environment };
  return new Child({ command, args, cwd: ROOT, env, stopSignal: 'SIGTERM', onLine });
};

/** Where people on this machine reach the API. */
export const localUrl = (settings: Pick<Settings, 'HOST' | 'HTTP_PORT'>): string => {
  const host = settings.HOST === '0.0.0.0' || settings.HOST === '::' ? '127.0.0.1' : settings.HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${settings.HTTP_PORT}`;
};

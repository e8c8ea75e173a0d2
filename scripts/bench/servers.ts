import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ownServers } from '../../test/support/own-servers.ts';
import { readSettings } from '../start/config.ts';
import { freePorts } from '../start/ports.ts';
import { environments, newEngineAccess, startProcess } from '../start/system.ts';
import { listenerOf } from './processes.ts';

const PATIENCE = 200;
const BETWEEN_MS = 50;

/** A SIP server and a media server of this machine, how they are reached, and the processes that do their work. */
export interface Servers {
  name: string;
  pids: readonly number[];
  sipPort: number;
  admin: { host: string; port: number; secret: string };
  eventSocket: { address: string; port: number; secret: string };
  stop(): Promise<void>;
}

/** How an engine is started. */
export interface EngineOptions {
  /** A command that runs the one behind it. */
  through?: readonly string[];
  onLine?: (line: string) => void;
  logLevel?: string;
  rtpPorts?: string;
}

const HOST = '127.0.0.1';

/** The embedded engine in a process of its own. */
export const startEngineProcess = async (options: EngineOptions = {}): Promise<Servers> => {
  const { through, onLine = () => undefined, logLevel = 'warn' } = options;
  const [sip = 0, rtp = 0] = await freePorts(2);
  const low = Math.min(rtp, 60_000);
  const { rtpPorts = `${low}-${low + 600}` } = options;
  const settings = readSettings({ SIP_PORT: String(sip), RTP_PORTS: rtpPorts, LOG_LEVEL: logLevel });
  const access = await newEngineAccess();
  const { engine: environment = {} } = environments(settings, { databaseUrl: '', redisUrl: '', engine: access });
  const child = startProcess('engine', environment, onLine, through);
  await portOpen(access.eventSocketPort);
  return {
    name: 'engine',
    pids: [child.pid],
    sipPort: sip,
    admin: { host: HOST, port: access.adminPort, secret: access.adminSecret },
    eventSocket: { address: HOST, port: access.eventSocketPort, secret: access.eventSocketPassword },
    stop: () => child.stop(),
  };
};

/**
 * The drachtio-server and FreeSWITCH of this machine that SIP_SERVERS and MEDIA_SERVERS name, which nobody else may use meanwhile.
 * Undefined without them; throws when they do not run here.
 */
export const givenServers = (): Servers | undefined => {
  const own = ownServers();
  if (!own) return undefined;
  const [sip, media] = [own.SIP_SERVERS, own.MEDIA_SERVERS].map(servers => new URL(servers.split(',')[0] ?? ''));
  const secretOf = (url?: URL): string => url?.password || (url?.username ?? '');
  const admin = { host: HOST, port: Number(sip?.port || 9022), secret: secretOf(sip) };
  const eventSocket = { address: HOST, port: Number(media?.port || 8021), secret: secretOf(media) };
  const pids = [admin.port, eventSocket.port].map(listenerOf);
  const stop = (): Promise<void> => Promise.resolve(); // they are somebody else's
  return { name: 'FreeSWITCH', pids, sipPort: Number(own.SIP_PORT), admin, eventSocket, stop };
};

/** Resolves when somebody listens on a TCP port of this machine; throws when nobody does for ten seconds. */
const portOpen = async (port: number): Promise<void> => {
  for (let attempt = 0; attempt < PATIENCE; attempt++) {
    const socket = connect(port, HOST);
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await pause(BETWEEN_MS); // not yet
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`nothing listens on port ${port}`);
};

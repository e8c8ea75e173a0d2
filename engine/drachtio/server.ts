import { silentLog, type SipLog } from '../sip/log.ts';
import type { BanList } from '../sip/ban-list.ts';
import type { Certificates } from '../sip/certificates.ts';
import type { SipListener } from '../sip/layer.ts';
import { SipStack } from '../sip/stack.ts';
import { Alarms, type SipTimers } from '../sip/timers.ts';
import { AdminListener, type AdminConfig } from './admin.ts';
import { announceLost } from './announce.ts';
import { Apps } from './app.ts';
import { Crowd } from './crowd.ts';
import { Dialogs } from './dialogs.ts';
import { receiveAck, receiveRequest } from './incoming.ts';
import { Director, type RequestHandlers } from './outbound/director.ts';
import type { Core, Incoming, Outgoing } from './records.ts';
import { Loops } from './proxy/loops.ts';
import { ProxiedDialogs } from './proxy/proxied-dialogs.ts';
import { RegisteredContacts } from './registered.ts';
import { Sessions } from './sessions.ts';

/** How the server is to be. */
export interface SipServerConfig {
  /** Address to bind for SIP; 0.0.0.0 is allowed. */
  host: string;
  /** Address phones elsewhere reach us at, when it is not the bound one. */
  advertisedAddress?: string;
  /** UDP and TCP port; 0 takes any that is free for both. */
  port: number;
  /** Listen on TCP too; default true. */
  tcp?: boolean;
  /** Further listeners by transport; 0 takes any free port. */
  ports?: ExtraPorts;
  /** Needed for TLS and WSS, and for applications that connect over TLS. */
  certificates?: Certificates;
  admin: AdminConfig;
  /** The shortest session that is granted, in seconds (RFC 4028 5); default 90. */
  minSessionSeconds?: number;
  /** How long calls outlive their application, in ms; default 3000. */
  orphanGraceMs?: number;
  timers?: Partial<SipTimers>;
  /** Whose requests are dropped. */
  bans?: BanList;
  /** How many connections one source may have; 0 for any number, 1000 by default. */
  connectionsPerSource?: number;
  /** Where new requests go that no connected application is to have; none by default. */
  requestHandlers?: RequestHandlers;
  /** DNS servers to ask for SIP servers; those of the system without any. */
  nameServers?: string[];
  log?: SipLog;
}

/** Ports of the transports beside UDP and TCP. */
export type ExtraPorts = Partial<Record<'tls' | 'ws' | 'wss', number>>;

/** A running server. */
export interface SipServer {
  /** Of UDP and TCP. */
  port: number;
  ports: ExtraPorts;
  adminPort: number;
  /** Where applications connect over TLS, when they may. */
  adminTlsPort: number | undefined;
  stop(): Promise<void>;
  /** What is open now, and how many requests were turned away so far. */
  stats(): { dialogs: number; transactions: number; connections: number; apps: number; turned_away: number };
}

const GRACE_MS = 3000;
const MIN_SESSION_SECONDS = 90;

/**
 * Starts a SIP server that applications reach by drachtio's admin protocol. Rejects with a sentence, and leaves nothing
 * open, when a port is taken.
 */
export async function startSipServer(config: SipServerConfig): Promise<SipServer> {
  const stack = await startStack(config);
  const { core, admin } = newCore(stack, config);
  hear(core);
  const { port: adminPort, tlsPort: adminTlsPort } = await admin.start().catch(async (error: unknown) => {
    await admin.stop();
    await stack.stop();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await admin.stop();
    core.dialogs.stop();
    core.alarms.clearAll();
    await stack.stop();
    core.alarms.clearAll();
  };
  const stats = (): ReturnType<SipServer['stats']> => ({
    ...stack.stats(),
    dialogs: core.dialogs.size,
    apps: core.apps.size,
    turned_away: core.crowd.turnedAway,
  });
  const port = stack.addresses[0]?.port ?? config.port;
  return { port, ports: extraPorts(stack), adminPort, adminTlsPort, stop, stats };
}

/** What comes in by the stack goes to whoever it is for. */
function hear(core: Core): void {
  core.stack.on('request', transaction => receiveRequest(core, transaction));
  core.stack.on('ack', (request, source) => receiveAck(core, request, source));
  core.stack.on('closed', peer => {
    const lost = core.registered.lost(peer);
    const app = lost && core.apps.next('register');
    if (app) announceLost(app, lost.request, lost.uris, peer);
  });
}

function extraPorts(stack: SipStack): ExtraPorts {
  const ports: ExtraPorts = {};
  for (const { transport, port } of stack.addresses)
    if (transport !== 'udp' && transport !== 'tcp') ports[transport] = port;
  return ports;
}

function newCore(stack: SipStack, config: SipServerConfig): { core: Core; admin: AdminListener } {
  const parts = {
    ...{ stack, apps: new Apps(), dialogs: new Dialogs(), registered: new RegisteredContacts() },
    ...{ proxied: new ProxiedDialogs(), loops: new Loops(), crowd: new Crowd(source => stack.openLine(source)) },
    ...{ incoming: new Map<string, Incoming>(), outgoing: new Map<string, Outgoing>(), alarms: new Alarms() },
    minSessionSeconds: config.minSessionSeconds ?? MIN_SESSION_SECONDS,
    orphanGraceMs: config.orphanGraceMs ?? GRACE_MS,
    log: config.log ?? silentLog,
  };
  const sessions = new Sessions(() => core);
  const admin = new AdminListener(() => core, config.admin, config.certificates);
  const director = new Director(
    () => core,
    config.requestHandlers ?? {},
    place => admin.reach(place),
  );
  const core: Core = { ...parts, sessions, director };
  return { core, admin };
}

/** With port 0 TCP gets a port first and UDP follows it; if that one is taken another is tried. */
async function startStack(config: SipServerConfig): Promise<SipStack> {
  for (let attempt = 1; ; attempt++) {
    const port = config.port === 0 && config.tcp !== false ? await freePort(config) : config.port;
    const listeners: SipListener[] = [{ transport: 'udp', host: config.host, port }];
    if (config.tcp !== false) listeners.push({ transport: 'tcp', host: config.host, port });
    for (const transport of ['tls', 'ws', 'wss'] as const) {
      const extra = config.ports?.[transport];
      if (extra !== undefined) listeners.push({ transport, host: config.host, port: extra });
    }
    const { timers, log, advertisedAddress, certificates, bans, nameServers, connectionsPerSource } = config;
    const more = { nameServers, connectionsPerSource };
    const stack = new SipStack({ listeners, timers, log, advertisedAddress, certificates, bans, ...more });
    try {
      await stack.start();
      return stack;
    } catch (error) {
      if (config.port !== 0 || attempt === 10) throw error;
    }
  }
}

async function freePort(config: SipServerConfig): Promise<number> {
  const trial = new SipStack({ listeners: [{ transport: 'udp', host: config.host, port: 0 }] });
  await trial.start();
  const port = trial.addresses[0]?.port ?? 0;
  await trial.stop();
  return port;
}

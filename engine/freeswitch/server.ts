import { join } from 'node:path';
import { tmpdir } from 'node:os';
import type { ControlledSession, EslHost } from '../esl/connection.ts';
import { encodeValue, plainHeaders } from '../esl/encode.ts';
import { InboundServer } from '../esl/inbound.ts';
import { openOutbound } from '../esl/outbound.ts';
import type { EslMessage } from '../esl/reader.ts';
import { MediaClock } from '../media/clock.ts';
import type { CodecName } from '../media/codecs/table.ts';
import { codecNames } from '../media/codecs/table.ts';
import { makeCertificate } from '../media/secure/certificate.ts';
import { RtpPorts } from '../media/rtp-ports.ts';
import type { SipLog } from '../sip/log.ts';
import { threadMemory, type ThreadMemory } from '../thread-memory.ts';
import { runApi } from './api/index.ts';
import { causeFrom } from './causes.ts';
import type { Channel } from './channel.ts';
import { Core } from './core.ts';
import type { Route } from './dialplan.ts';
import { channelHeaders, variableHeaders } from './events.ts';
import { SipUserAgent } from './sip-user-agent.ts';

/** Options of the embedded media server. */
export interface MediaServerConfig {
  /** Address that RTP is bound to. */
  rtpHost: string;
  /** Address for SDP when the bound one is not what others see. */
  advertisedAddress?: string;
  /** Codecs that are spoken, the most preferred first; all by default. */
  codecs?: readonly CodecName[];
  /** First and last RTP port. */
  rtpPorts: [low: number, high: number];
  /** Where the SIP server reaches us; best a loopback address. Port 0 = any. */
  sip: { host: string; port: number };
  eventSocket: { host: string; port: number; password: string };
  soundsDir: string;
  /** For sounds fetched over HTTP and speech; a temporary directory by default. */
  cacheDir?: string;
  /** Default 1000. */
  maxSessions?: number;
  /** Default 20 s. */
  heartbeatMs?: number;
  log: SipLog;
}

/** A running media server. */
export interface MediaServer {
  sipPort: number;
  eventSocketPort: number;
  stop(): Promise<void>;
  stats(): Promise<MediaServerStats>;
}

/** What is open in the media server, and what its thread keeps. */
export interface MediaServerStats {
  channels: number;
  rtp_ports: number;
  transactions: number;
  dialogs: number;
  memory: ThreadMemory;
}

/**
 * Starts a media server that behaves towards drachtio-fsmrf as FreeSWITCH does: event socket, SIP and RTP.
 * @throws Error when a port cannot be bound
 */
export async function startMediaServer(config: MediaServerConfig): Promise<MediaServer> {
  const core = await coreFor(config);
  const host = hostFor(core);
  const agent = new SipUserAgent(core, config.sip, (channel, route) => control(channel, route, host), config.log);
  const { host: address, port, password } = config.eventSocket;
  const inbound = new InboundServer({ host, address, port, password });
  const [sipPort, sixPort] = await agent.start();
  core.sipAddress = `${config.sip.host}:${sipPort}`;
  if (sixPort !== undefined) core.sipAddress6 = `[::1]:${sixPort}`;
  core.inbound = inbound.connections;
  let eventSocketPort: number;
  try {
    eventSocketPort = await inbound.start();
  } catch (error) {
    await agent.stop();
    throw error;
  }
  core.start();
  return {
    sipPort,
    eventSocketPort,
    stop: () => stop(core, inbound, agent),
    stats: () => Promise.resolve(statsOf(core, agent)),
  };
}

function statsOf(core: Core, agent: SipUserAgent): MediaServerStats {
  const open = { channels: core.channels.size, rtp_ports: core.options.ports.inUse };
  return { ...open, ...agent.stats(), memory: threadMemory() };
}

async function coreFor(config: MediaServerConfig): Promise<Core> {
  return new Core({
    rtpHost: config.rtpHost,
    advertisedAddress: config.advertisedAddress,
    codecs: config.codecs ?? codecNames,
    soundsDir: config.soundsDir,
    cacheDir: config.cacheDir ?? join(tmpdir(), 'trunkline-sounds'),
    maxSessions: config.maxSessions ?? 1000,
    heartbeatMs: config.heartbeatMs ?? 20_000,
    ports: new RtpPorts(config.rtpPorts, config.rtpHost),
    certificate: await makeCertificate(),
    clock: new MediaClock(),
    log: config.log,
  });
}

function hostFor(core: Core): EslHost {
  return {
    api: (command, args) => runApi(core, command, args),
    sendMessage: (uuid, message) => sendMessage(core, uuid, message),
    raise: event => core.raise(event),
  };
}

/** Hangs everything up, takes leave of the clients and gives the BYEs a moment to be answered. */
async function stop(core: Core, inbound: InboundServer, agent: SipUserAgent): Promise<void> {
  core.stop();
  await Promise.all([...core.channels.values()].map(channel => channel.hangup('SYSTEM_SHUTDOWN')));
  await inbound.stop();
  const until = performance.now() + 300;
  while (agent.stats().transactions > 0 && performance.now() < until)
    await new Promise(resolve => setTimeout(resolve, 20));
  await agent.stop();
}

/** The dialplan's `socket <address> async full`: the application takes over, and without it the call ends. */
function control(channel: Channel, { address, port }: Route, host: EslHost): void {
  channel.socketOpened(`${address}:${port} async full`);
  channel.set('socket_host', address);
  channel.connection = openOutbound({
    address,
    port,
    host,
    session: sessionOf(channel),
    onClose: () => void channel.hangup('NORMAL_CLEARING'),
  });
}

function sessionOf(channel: Channel): ControlledSession {
  return {
    uuid: channel.uuid,
    get name() {
      return channel.name;
    },
    channelData: () => channelData(channel),
    variable: name => channel.get(name),
  };
}

/** The answer to `connect`: event and reply in one (protocol page §5). */
function channelData(channel: Channel): string {
  const headers = {
    ...channel.core.headers('CHANNEL_DATA'),
    'Channel-Unique-ID': channel.uuid,
    ...channelHeaders(channel),
  };
  const reply = { 'Content-Type': 'command/reply', 'Socket-Mode': 'async', Control: 'full' };
  const text = plainHeaders({ ...headers, ...variableHeaders(channel) });
  const lines = Object.entries(reply).map(([name, value]) => `${name}: ${value}\n`);
  return `${text}${lines[0]}Reply-Text: ${encodeValue('+OK\n')}\n${lines.slice(1).join('')}\n`;
}

function sendMessage(core: Core, uuid: string, message: EslMessage): string {
  const channel = core.channels.get(uuid);
  if (!channel) return `-ERR invalid session id [${uuid}]`;
  const command = message.headers.get('call-command')?.trim().toLowerCase();
  if (command === 'execute') return execute(channel, message);
  if (command === 'hangup') {
    void channel.hangup(causeFrom(message.headers.get('hangup-cause') ?? ''));
    return '+OK';
  }
  return command === undefined ? '-ERR invalid command' : `-ERR ${command} is not supported`;
}

function execute(channel: Channel, { headers, body }: EslMessage): string {
  const application = headers.get('execute-app-name')?.trim() ?? '';
  if (!/^[\w.-]{1,64}$/.test(application)) return '-ERR invalid application';
  const uuid = headers.get('event-uuid')?.trim();
  const loops = Number(headers.get('loops') ?? 1);
  const accepted = channel.execute(application, body === '' ? (headers.get('execute-app-arg') ?? '') : body, {
    ...(uuid !== undefined && uuid !== '' ? { uuid: uuid.slice(0, 128) } : {}),
    loops: Number.isInteger(loops) && loops > 0 ? Math.min(loops, 1000) : 1,
    lock: headers.get('event-lock')?.trim() === 'true',
  });
  return accepted ? '+OK' : '-ERR too many applications are waiting';
}

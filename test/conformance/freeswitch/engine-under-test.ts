import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../../engine/index.ts';
import { startEngine } from '../../../engine/index.ts';
import { channelsOf, ownServers, type OwnServers } from '../../support/own-servers.ts';
import type { PeerCodec } from './rtp-peer.ts';
import { RtpPeer } from './rtp-peer.ts';

const require = createRequire(import.meta.url);

/** What the tests use of drachtio-fsmrf's Endpoint; the library has no types. */
export interface Endpoint extends EventEmitter {
  uuid: string;
  connected: boolean;
  local: { sdp: string; mediaIp: string; mediaPort: string };
  remote: { sdp: string };
  sip: { callId: string };
  dialog: { destroy(options?: object): Promise<unknown> } & EventEmitter;
  conn: { socket: Socket };
  play(
    file: unknown,
  ): Promise<{ playbackSeconds: string; playbackMilliseconds: string; playbackLastOffsetPos: string }>;
  playCollect(
    options: object,
  ): Promise<{ digits: string | null; invalidDigits: string | null; terminatorUsed: string | null }>;
  record(
    file: string,
    options?: object,
  ): Promise<{ terminatorUsed: string | null; recordSeconds: string; recordMilliseconds: string }>;
  recordSession(file: string): Promise<unknown>;
  set(name: string | object, value?: string): Promise<void>;
  export(name: string, value: string): Promise<void>;
  getChannelVariables(includeMedia?: boolean): Promise<Record<string, string | number>>;
  mute(): Promise<unknown>;
  unmute(): Promise<unknown>;
  bridge(other: Endpoint): Promise<void>;
  unbridge(): Promise<void>;
  modify(sdp: string): Promise<unknown>;
  destroy(): Promise<void>;
  api(command: string, args?: string | string[]): Promise<{ body: string }>;
  execute(application: string, argument?: string): Promise<EslEvent>;
}

/** What the tests use of an event of drachtio-modesl. */
export interface EslEvent {
  getHeader(name: string): string | null;
}

/** What the tests use of drachtio-fsmrf's MediaServer. */
export interface MediaServer extends EventEmitter {
  sip: { ipv4: { udp: { address: string } } };
  conn: EventEmitter & { socket: Socket };
  maxSessions: number;
  api(command: string): Promise<string>;
  createEndpoint(options?: object): Promise<Endpoint>;
  connectCaller(
    request: unknown,
    response: unknown,
    options?: object,
  ): Promise<{ endpoint: Endpoint; dialog: EventEmitter }>;
  destroy(): void;
}

interface Srf extends EventEmitter {
  connect(options: object): void;
  disconnect(): void;
  invite(handler: (request: unknown, response: unknown) => void): void;
}

interface Mrf extends EventEmitter {
  connect(options: object): Promise<MediaServer>;
}

export const SrfClass = require('drachtio-srf') as new () => Srf;
export const MrfClass = require('drachtio-fsmrf') as new (srf: Srf) => Mrf;

const secret = randomUUID();
const password = randomUUID();
/** With which its admin port and its event socket are opened. */
export const ENGINE_SECRETS = { secret, password };
const nothing = (_fields: object, _text?: string): void => undefined;
export const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing, fatal: nothing };

/** Where the servers of one's own are, as an engine tells it; they do not say what they have open. */
const realServers = (own: OwnServers): Engine => ({
  sipPort: Number(own.SIP_PORT),
  sipPorts: {},
  adminPort: Number(new URL(own.SIP_SERVERS).port || 9022),
  adminTlsPort: undefined,
  eventSocketPort: Number(new URL(own.MEDIA_SERVERS).port || 8021),
  mediaSipPort: NaN,
  reloadCertificates: () => undefined,
  stop: () => Promise.resolve(),
  stats: () => {
    throw new Error('this test needs the embedded engine');
  },
});

const newEngine = (directory: string, log: typeof silent, host: string): Promise<Engine> =>
  startEngine({
    host,
    sipPort: 0,
    rtpPorts: [41000, 41400],
    admin: { host: '127.0.0.1', port: 0, secret },
    eventSocket: { host: '127.0.0.1', port: 0, password },
    mediaSip: { host: '127.0.0.1', port: 0 },
    singleThread: true,
    soundsDir: directory,
    cacheDir: join(directory, 'cache'),
    log,
  });

const NO_CONFERENCE = '+OK No active conferences.\n';

/** An engine on free ports, or the servers of one's own, with the unmodified libraries connected to it. */
export class EngineUnderTest {
  readonly peers: RtpPeer[] = [];
  readonly endpoints: Endpoint[] = [];
  readonly directory: string;
  readonly engine: Engine;
  readonly srf: Srf;
  readonly mrf: Mrf;
  readonly media: MediaServer;

  private constructor(directory: string, engine: Engine, srf: Srf, mrf: Mrf, media: MediaServer) {
    this.directory = directory;
    this.engine = engine;
    this.srf = srf;
    this.mrf = mrf;
    this.media = media;
  }

  static async start(log: typeof silent = silent, host = '127.0.0.1'): Promise<EngineUnderTest> {
    const directory = await mkdtemp(join(tmpdir(), 'engine-'));
    const own = ownServers();
    const engine = own ? realServers(own) : await newEngine(directory, log, host);
    const srf = new SrfClass();
    srf.on('error', nothing);
    srf.connect({
      host: '127.0.0.1',
      port: engine.adminPort,
      secret: own ? new URL(own.SIP_SERVERS).username : secret,
    });
    await once(srf, 'connect');
    const mrf = new MrfClass(srf);
    const media = await mrf.connect(EngineUnderTest.address(engine));
    media.conn.socket.setNoDelay(true);
    return new EngineUnderTest(directory, engine, srf, mrf, media);
  }

  /** Options of `mrf.connect` for an engine. */
  static address(engine: Engine): object {
    const own = ownServers();
    const word = own ? new URL(own.MEDIA_SERVERS).username : password;
    return { address: '127.0.0.1', port: engine.eventSocketPort, secret: word, listenAddress: '127.0.0.1' };
  }

  /** A telephone, on this address of the machine and with this codec (PCMU), and the endpoint that speaks with it. */
  async call(options: object = {}, host?: string, codec?: PeerCodec): Promise<{ endpoint: Endpoint; peer: RtpPeer }> {
    const peer = await this.peer(host, codec);
    const endpoint = await this.media.createEndpoint({ remoteSdp: peer.sdp(), ...options });
    this.endpoints.push(endpoint);
    endpoint.conn.socket.setNoDelay(true);
    await endpoint.api('create_uuid'); // its answer comes after the subscription, which modesl writes in pieces
    peer.listenTo(endpoint.local.sdp);
    peer.saying = 0;
    return { endpoint, peer };
  }

  async peer(host?: string, codec?: PeerCodec): Promise<RtpPeer> {
    const peer = await RtpPeer.open(host, codec);
    this.peers.push(peer);
    return peer;
  }

  /** Ends the calls of one test and fails if anything of them stays. */
  async hangUp(): Promise<void> {
    await Promise.all(this.endpoints.splice(0).map(one => (one.connected ? this.release(one) : Promise.resolve())));
    for (const peer of this.peers.splice(0)) peer.close();
    await this.comesToChannels(0);
    await until(async () => (await this.media.api('conference list')) === NO_CONFERENCE, 'the end of every conference');
  }

  /**
   * Destroys a leg, and kills it when it is deaf to `hangup`, as media-app does: on FreeSWITCH a member of a conference is
   * without a phone, because the description that stands in for the phone's makes it `recvonly`.
   */
  async release(endpoint: Endpoint): Promise<void> {
    const deaf = setTimeout(() => void this.media.api(`uuid_kill ${endpoint.uuid}`), 500);
    await endpoint.destroy().finally(() => clearTimeout(deaf));
  }

  /** Resolves when exactly so many channels are there. */
  async comesToChannels(count: number): Promise<void> {
    const own = ownServers();
    const channels = async () =>
      (own ? await channelsOf(own) : [`channels: ${(await this.engine.stats()).channels}`])[0] ?? '';
    const wanted = own && count === 0 ? '' : `channels: ${count}`;
    await until(async () => (await channels()) === wanted, `${count} channels`);
  }

  async stop(): Promise<void> {
    this.media.destroy();
    this.srf.disconnect();
    await this.engine.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** How the engine of a suite is to be. */
interface SuiteOptions {
  /** When calls are ended: after each test, or by `after` when tests share them or run at the same time. */
  hangUp?: Mocha.HookFunction;
  log?: typeof silent;
}

/** Starts an engine before the tests of a suite, hands it to `take`, ends its calls, and stops it behind them. */
export function withEngine(
  take: (started: EngineUnderTest) => unknown,
  { hangUp = afterEach, log }: SuiteOptions = {},
): void {
  let under: EngineUnderTest;
  before(async () => {
    under = await EngineUnderTest.start(log);
    await take(under);
  });
  hangUp(() => under.hangUp());
  after(() => under.stop());
}

/** Resolves when a condition holds; rejects after `withinMs` naming what was waited for. */
export async function until(test: () => boolean | Promise<boolean>, what: string, withinMs = 3000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await test())) {
    if (performance.now() > end) throw new Error(`waited ${withinMs} ms for ${what}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

/** The milliseconds that something took, with its result. */
export async function timed<T>(promise: Promise<T>): Promise<{ result: T; ms: number }> {
  const start = performance.now();
  const result = await promise;
  return { result, ms: performance.now() - start };
}

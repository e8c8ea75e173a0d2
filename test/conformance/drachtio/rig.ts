import { strict as assert } from 'node:assert';
import { once, type EventEmitter } from 'node:events';
import Srf from 'drachtio-srf';
import { startSipServer, type SipServer, type SipServerConfig } from '../../../engine/drachtio/server.ts';
import { ownServers, type OwnServers } from '../../support/own-servers.ts';
import { eventually } from '../../support/eventually.ts';
import { TcpPeer, UdpPeer, type Peer } from './peer.ts';

/** The parts of the unmodified library that these tests use; its own declarations leave most of them out. */
export interface Request extends EventEmitter {
  method: string;
  uri: string;
  body: string;
  source_address: string;
  receivedOn: string;
  get(name: string): string;
  cancel(done?: (error: unknown) => void): void;
  protocol: string;
}
export interface Response {
  status: number;
  get(name: string): string;
  send(
    status: number,
    options?: object,
    callback?: (error: unknown, sent: Response) => void,
    confirmed?: (request: unknown) => void,
  ): void;
}
export interface Call extends EventEmitter {
  id: string;
  sip: { callId: string; localTag: string; remoteTag: string };
  remote: { sdp: string };
  destroy(options?: object): Promise<Request>;
  modify(sdp: string): Promise<string>;
  request(options: object): Promise<Response>;
}
/** What became of a proxied request. */
export interface Proxied {
  connected: boolean;
  finalStatus: number;
  responses: { port: number; msgs: { status: number }[] }[];
}
export interface Client extends EventEmitter {
  connect(options: object): void;
  disconnect(): void;
  request(uri: string, options: object): Promise<Request>;
  createUAS(request: Request, response: Response, options: object): Promise<Call>;
  createUAC(uri: string, options: object, progress?: object): Promise<Call>;
  createB2BUA(request: Request, response: Response, uri: string, options: object): Promise<{ uas: Call; uac: Call }>;
  proxyRequest(request: Request, to: string | string[], options?: object): Promise<Proxied>;
  use(method: string, handler: (request: Request, response: Response, next: () => void) => void): void;
  invite(handler: (request: Request, response: Response) => void): void;
  register(handler: (request: Request, response: Response) => void): void;
  options(handler: (request: Request, response: Response) => void): void;
}

const SECRET = 'cymru';
/** Timers a fiftieth of the real ones: 64*T1 is 640 ms. */
export const SHORT = { T1: 10, T2: 80, T4: 100 };

/** How long a test waits for the end of 64*T1, which real servers keep to (32 s). */
export const UNANSWERED_MS = ownServers() ? 40_000 : 5000;

/** What an engine has open. */
type Holdings = ReturnType<SipServer['stats']>;

/** The drachtio-server of `SIP_SERVERS`, which does not say what it has open. */
const realServer = (own: OwnServers): SipServer => ({
  port: Number(own.SIP_PORT),
  ports: {},
  adminPort: Number(new URL(own.SIP_SERVERS).port || 9022),
  adminTlsPort: undefined,
  stop: () => Promise.resolve(),
  stats: () => assert.fail('this test needs the embedded engine'),
});

/** A server, an application and user agents, all ended by `close`. On a real server the options are its own business. */
export class Rig {
  readonly server: SipServer;
  readonly secret: string;
  readonly #clients = new Set<Client>();
  readonly #peers: Peer[] = [];

  private constructor(server: SipServer, secret: string) {
    this.server = server;
    this.secret = secret;
  }

  static async start(options: Partial<SipServerConfig> = {}): Promise<Rig> {
    const own = ownServers();
    if (own) return new Rig(realServer(own), new URL(own.SIP_SERVERS).username);
    const admin = { host: '127.0.0.1', port: 0, secret: SECRET };
    return new Rig(await startSipServer({ host: '127.0.0.1', port: 0, admin, ...options }), SECRET);
  }

  /** Fails unless an engine has exactly this open now. */
  holds(expected: Partial<Holdings>): void {
    if (ownServers()) return;
    const held = this.server.stats();
    assert.deepEqual(held, { ...held, ...expected });
  }

  /** Waits until an engine has exactly this open. */
  async comesToHold(expected: Partial<Holdings>): Promise<void> {
    const held = () => (ownServers() ? expected : this.server.stats());
    const matches = (now: Partial<Holdings>) => JSON.stringify({ ...now, ...expected }) === JSON.stringify(now);
    await eventually(`open: ${JSON.stringify(expected)}`, held, matches);
  }

  /** A connected application. `route` adds handlers before it connects, so that they are registered when this resolves. */
  async app(route: (client: Client) => void = () => undefined): Promise<Client> {
    const client = new Srf() as unknown as Client;
    client.on('error', () => undefined);
    route(client);
    this.#clients.add(client);
    client.connect({ host: '127.0.0.1', port: this.server.adminPort, secret: this.secret });
    const [error] = (await once(client, 'connect')) as [unknown];
    if (error) throw error instanceof Error ? error : new Error('no connection');
    if (ownServers()) await this.#follows(client);
    return client;
  }

  /** The real server takes routes beside SIP; what is sent behind them shows that it has them. */
  async #follows(client: Client): Promise<void> {
    const probe = await this.phone();
    const request = await client.request(`sip:127.0.0.1:${probe.port}`, { method: 'OPTIONS' });
    const answered = next(request, 'response');
    probe.answer(await probe.expect(/^OPTIONS/), '200 OK');
    await answered;
  }

  /** Breaks an application's connection as a crash would, without a reconnection. */
  lose(client: Client): void {
    this.#clients.delete(client);
    client.disconnect();
  }

  async phone(): Promise<UdpPeer> {
    return this.keep(await UdpPeer.open(this.server.port));
  }

  async tcpPhone(): Promise<TcpPeer> {
    return this.keep(await TcpPeer.open(this.server.port));
  }

  /** Closes this peer with everything else. */
  keep<P extends Peer>(peer: P): P {
    this.#peers.push(peer);
    return peer;
  }

  uri(user = '1000'): string {
    return `sip:${user}@127.0.0.1:${this.server.port}`;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    for (const peer of this.#peers) peer.close();
    await this.server.stop();
  }
}

/** Resolves with the arguments of the next event. */
export const next = async (emitter: EventEmitter, event: string, withinMs = 5000): Promise<unknown[]> => {
  return (await once(emitter, event, { signal: AbortSignal.timeout(withinMs) })) as unknown[];
};

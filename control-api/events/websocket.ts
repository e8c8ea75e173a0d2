import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Knex } from 'knex';
import type { Log } from '#process/log';
import { WebSocketServer, type WebSocket } from 'ws';
import { PlatformError } from '#contract/errors';
import type { Identity } from '../http/authenticate.ts';
import { permit } from '../http/permit.ts';
import { refuseUpgrade } from '../http/refuse-upgrade.ts';
import { requestIdOf } from '../http/request-id.ts';
import { streamPath } from '../streams/path.ts';
import { CLOSE, Connection } from './connection.ts';
import { CustomerLogs, type CustomerLog } from './customer-log.ts';
import type { LogFeed } from './feed.ts';

/** Where clients connect: anybody, and agents who logged in. */
const WEBSOCKET_PATHS = ['/v1.0/ws', '/v1.0/service_agents/ws'] as const;
type WebSocketPath = (typeof WEBSOCKET_PATHS)[number];

const pathOf = (url: string | undefined): WebSocketPath | undefined =>
  WEBSOCKET_PATHS.find(path => path === url?.split('?')[0]);

/** Pings, and how long a silent client or a write is waited for, in milliseconds (accounts-and-plumbing 26.1). */
export const TIMES = { ping_ms: 10_000, silence_ms: 60_000, write_ms: 10_000, identify_ms: 60_000 } as const;

const POLL_MS = 2000;
const MOST_CONNECTIONS = 5000;
/** A thousand topics of four parts fit. */
const MOST_PAYLOAD = 256 * 1024;

/** Tells who a request comes from; rejects PlatformError when nobody may. `counted` towards limits: it is a new request. */
export type Identify = (request: IncomingMessage, counted: boolean) => Promise<Identity>;

interface EventSocketOptions {
  server: Server;
  database: Knex;
  feed: LogFeed;
  identify: Identify;
  log: Log;
  /** Pause between pings. */
  ping_ms?: number;
  /** A client that is silent for so long is gone. */
  silence_ms?: number;
  /** So is one that takes so long to read one message. */
  write_ms?: number;
  /** How often the credential of every connection is looked at again. */
  identify_ms?: number;
}

/** GET /v1.0/ws and /v1.0/service_agents/ws: events over WebSocket, in the order of the customer's sequence, each once (accounts-and-plumbing 26). */
export class EventSocket {
  readonly #given: Required<EventSocketOptions>;
  readonly #logs: CustomerLogs;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD, clientTracking: false });
  readonly #connections = new Map<Connection, IncomingMessage>();
  readonly #timers: NodeJS.Timeout[] = [];
  #quiet: () => void = () => undefined;
  #stopped = false;

  constructor(given: EventSocketOptions) {
    this.#given = { ...TIMES, ...given };
    this.#logs = new CustomerLogs(given);
  }

  /** Takes upgrades from now on. */
  start(): void {
    const { ping_ms, silence_ms, identify_ms } = this.#given;
    this.#given.server.on('upgrade', this.#upgrade);
    this.#quiet = this.#given.feed.onGrowth(growth => this.#logs.wake(growth?.customer_id));
    this.#every(ping_ms, () => [...this.#connections.keys()].forEach(each => each.checkAlive(silence_ms)));
    this.#every(POLL_MS, () => this.#logs.poll().catch(this.#warn));
    this.#every(identify_ms, () => this.#identifyAll().catch(this.#warn));
  }

  /** Refuses new connections and tells the others to go elsewhere. */
  stop(): void {
    this.#stopped = true;
    this.#given.server.off('upgrade', this.#upgrade);
    this.#quiet();
    this.#timers.forEach(timer => clearInterval(timer));
    for (const connection of this.#connections.keys()) connection.close(CLOSE.going_away, 'server is shutting down');
  }

  #every(milliseconds: number, work: () => unknown): void {
    const timer = setInterval(work, milliseconds);
    timer.unref();
    this.#timers.push(timer);
  }

  readonly #warn = (error: unknown): void =>
    this.#given.log.warn({ err: error }, 'event socket: work failed, trying again');

  readonly #upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (streamPath(request.url) !== undefined) return; // streams/media-streams.ts takes it
    const request_id = requestIdOf(request.headers['x-request-id']);
    const onError = (error: Error): void => this.#given.log.debug({ err: error }, 'client left during the upgrade');
    socket.on('error', onError);
    this.#admit(request)
      .then(async identity => {
        const own = await this.#hold(identity.customer_id, socket);
        socket.off('error', onError);
        this.#sockets.handleUpgrade(request, socket, head, client => this.#welcome(client, request, identity, own));
      })
      .catch((error: unknown) => refuseUpgrade({ socket, request, request_id, log: this.#given.log }, error));
  };

  async #admit(request: IncomingMessage): Promise<Identity> {
    if (!pathOf(request.url)) throw new PlatformError('ROUTE_NOT_FOUND', 'There is no WebSocket here.');
    if (this.#stopped || this.#connections.size >= MOST_CONNECTIONS)
      throw new PlatformError('SERVICE_UNAVAILABLE', 'No more connections at the moment.');
    return this.#identify(request, true);
  }

  /** Borrowed power is not for listening, and the agents' address is for agents (accounts-and-plumbing 26.1, 6.4). */
  async #identify(request: IncomingMessage, counted: boolean): Promise<Identity> {
    const identity = await this.#given.identify(request, counted);
    if (identity.kind === 'delegate')
      throw new PlatformError('AUTHENTICATION_REQUIRED', 'A delegate token cannot listen to events.');
    if (pathOf(request.url) === '/v1.0/service_agents/ws') permit(identity, 'login');
    return identity;
  }

  /** Opens the customer's log before the client is connected, so that nothing falls between connecting and subscribing. */
  async #hold(customerId: string, socket: Duplex): Promise<CustomerLog> {
    const hold = (): void => undefined;
    const log = await this.#logs.listen(customerId, hold);
    if (socket.destroyed) this.#logs.leave(log, hold);
    socket.once('close', () => this.#logs.leave(log, hold));
    return log;
  }

  #welcome(socket: WebSocket, request: IncomingMessage, identity: Identity, own: CustomerLog): void {
    const connection = new Connection({ socket, identity, own, logs: this.#logs, write_ms: this.#given.write_ms });
    this.#connections.set(connection, request);
    socket.once('close', () => this.#connections.delete(connection));
    socket.on('error', error => this.#given.log.debug({ err: error }, 'WebSocket client broke the protocol'));
    if (this.#stopped) connection.close(CLOSE.going_away, 'server is shutting down');
  }

  /** Credentials expire and permissions change while a connection stands. */
  async #identifyAll(): Promise<void> {
    for (const [connection, request] of [...this.#connections]) {
      try {
        connection.updateIdentity(await this.#identify(request, false));
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        connection.close(CLOSE.policy, 'the credential is no longer valid');
      }
    }
  }
}

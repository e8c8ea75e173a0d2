import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { EventMessage } from '#contract/events';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { hashOfToken, newAccesskeyToken } from '../../control-api/auth/secrets.ts';
import { signAgentToken } from '../../control-api/auth/token.ts';
import type { Db } from '../../control-api/db.ts';
import type { LogFeed } from '../../control-api/events/feed.ts';
import { appendEvent } from '../../control-api/events/log.ts';
import { EventSocket, type TIMES } from '../../control-api/events/websocket.ts';
import { Authenticator } from '../../control-api/http/authenticate.ts';
import { eventually, type EventRig } from './events-rig.ts';

/** What tokens are signed with. */
export const SECRET = Buffer.from('a secret of at least thirty-two bytes');

/** A WebSocket client that keeps what it hears. */
export class Listener {
  readonly heard: EventMessage[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly socket: WebSocket;

  constructor(url: string, autoPong = true) {
    this.socket = new WebSocket(url, { autoPong });
    this.socket.on('message', (data: Buffer) => this.heard.push(JSON.parse(data.toString()) as EventMessage));
    this.closed = new Promise(resolve =>
      this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
  }

  subscribe(topics: string[], given: { after_sequence?: number; type?: string } = {}): void {
    this.socket.send(JSON.stringify({ type: 'subscribe', topics, ...given }));
  }

  get sequences(): number[] {
    return this.heard.map(event => event.sequence);
  }

  /** Resolves when it has heard so many. */
  hears(count: number): Promise<void> {
    return eventually(`${count} events, heard ${this.heard.length}`, () => this.heard.length >= count);
  }
}

/** An HTTP server with the event socket on it, and the clients that listen there. */
export class ListenedServer {
  /** `ws://127.0.0.1:port/v1.0/ws` */
  readonly address: string;
  /** The server's side of every connection. */
  readonly accepted = new Set<Socket>();
  readonly #server: Server;
  readonly #sockets: EventSocket;
  #listeners: Listener[] = [];

  private constructor(server: Server, sockets: EventSocket) {
    this.#server = server;
    this.#sockets = sockets;
    this.address = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1.0/ws`;
    server.on('connection', socket => this.accepted.add(socket));
    sockets.start();
  }

  static async open(
    rig: EventRig,
    feed: LogFeed,
    times: Partial<Record<keyof typeof TIMES, number>> = {},
  ): Promise<ListenedServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const authenticator = new Authenticator(rig.db, SECRET);
    const identify = authenticator.identify.bind(authenticator);
    return new ListenedServer(server, new EventSocket({ ...rig, ...times, server, database: rig.db, feed, identify }));
  }

  /** A client with this query, once it is let in. */
  async connect(query: string, autoPong = true): Promise<Listener> {
    const listener = new Listener(`${this.address}?${query}`, autoPong);
    this.#listeners.push(listener);
    await once(listener.socket, 'open');
    return listener;
  }

  /** Cuts all clients off, as behind each test. */
  async dropAll(): Promise<void> {
    for (const listener of this.#listeners) listener.socket.terminate();
    await Promise.all(this.#listeners.map(listener => listener.closed));
    this.#listeners = [];
  }

  stop(): void {
    this.#sockets.stop();
    this.#server.close();
  }
}

/** A new accesskey of a customer. */
export const accesskeyOf = async (db: Db, customer_id: string): Promise<string> => {
  const token = newAccesskeyToken();
  const times = { tm_expire: '2099-01-01 00:00:00.000000', tm_create: timestamp() };
  const row = { name: '', detail: '', token_prefix: '', token_hash: hashOfToken(token), ...times };
  await db('accesskeys').insert({ ...row, id: newId(), customer_id });
  return token;
};

/** A new agent of a customer, and a token of its login. */
export const agentOf = async (
  db: Db,
  customer_id: string,
  permission: number,
): Promise<{ id: string; token: string }> => {
  const id = newId();
  await db('agents').insert({ id, customer_id, username: id, password: 'x', permission, tm_create: timestamp() });
  return { id, token: await signAgentToken(SECRET, { id }) };
};

/** Something happens to a resource of a customer: an event of one is appended to the log. */
export const happen = async (
  db: Db,
  customer_id: string,
  { resource = 'flow', id = newId(), owner = '' } = {},
): Promise<void> => {
  const event = { customer_id, event_type: 'flow_created' as const, resource, resource_id: id };
  await db.transaction(trx => appendEvent(trx, { ...event, data: { id, owner_id: owner }, request_id: '' }));
};

/** All it has heard when a marker has come: events arrive in order, so whatever was going to come before it is there. */
export const quiet = async (db: Db, listener: Listener, customer: string): Promise<EventMessage[]> => {
  const id = newId();
  listener.subscribe([`customer_id:${customer}:marker:${id}`]);
  await happen(db, customer, { resource: 'marker', id });
  await eventually('the marker', () => listener.heard.some(event => event.topic.endsWith(id)));
  return listener.heard.filter(event => !event.topic.includes(':marker:'));
};

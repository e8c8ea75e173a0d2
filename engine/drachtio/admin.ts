import { randomUUID } from 'node:crypto';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { closePort, listen } from '../listen.ts';
import { sameSecret } from '../same-secret.ts';
import type { Certificates } from '../sip/certificates.ts';
import { formatHostPort } from '../sip/grammar.ts';
import { isRequest } from '../sip/message.ts';
import { parseLoose } from '../sip/parser.ts';
import { sendAnswer } from './answers.ts';
import { App } from './app.ts';
import { frame, FrameReader } from './frame.ts';
import { abandon } from './orphans.ts';
import type { Core } from './records.ts';
import { serveProxy } from './proxy/serve.ts';
import { sendCancel, sendInDialog, sendNew } from './requests.ts';

/** drachtio-srf pings from v0.8.2 on and parses no more than the three numbers. */
const VERSION = 'v0.9.10-trunkline';
const LOGIN_MS = 10_000;
const MOST_VERBS = 100;
const MOST_TAGS = 20;
/** In which an application that we connect to has to log in. */
const REACH_MS = 2000;
/** An application whose machine vanished is noticed within seconds, not hours. */
const LINE = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 };

/** Where applications connect, and what they have to know. */
export interface AdminConfig {
  host: string;
  /** Port for plain connections; 0 = any. */
  port: number;
  /** Port for those over TLS; 0 = any, none without it. */
  tlsPort?: number;
  secret: string;
}

/** Where it listens. */
export interface AdminPorts {
  port: number;
  tlsPort: number | undefined;
}

/** Where an application listens for us. */
export interface AppPlace {
  host: string;
  port: number;
  tls: boolean;
}

/** The admin listener, plain and over TLS: one connection per application process. */
export class AdminListener {
  readonly #core: () => Core;
  readonly #config: AdminConfig;
  readonly #certificates: Certificates | undefined;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  /**
   * @param core the server, which holds the applications that log in here
   * @param certificates what applications are shown that connect over TLS
   */
  constructor(core: () => Core, config: AdminConfig, certificates: Certificates | undefined) {
    this.#core = core;
    this.#config = config;
    this.#certificates = certificates;
  }

  /** Where it listens; rejects with a sentence when a port is taken, or when there is no certificate for TLS. */
  async start(): Promise<AdminPorts> {
    const { port, tlsPort } = this.#config;
    const plain = createServer(LINE, socket => this.#accept(socket));
    return {
      port: await this.#listen(plain, port),
      tlsPort: tlsPort === undefined ? undefined : await this.#listen(this.#newTlsServer(), tlsPort),
    };
  }

  #newTlsServer(): Server {
    const certificates = this.#certificates;
    if (!certificates) throw new Error('applications cannot be listened for over TLS without a certificate');
    const options = { ...certificates.serverOptions(), ...LINE, handshakeTimeout: LOGIN_MS };
    const server = createTlsServer(options, socket => this.#accept(socket));
    certificates.follow(server);
    // A handshake that fails concerns that connection alone. One that takes too long is told of, but not closed.
    return server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  #listen(server: Server, port: number): Promise<number> {
    this.#servers.push(server);
    return listen(server, 'for applications on', { host: this.#config.host, port });
  }

  /**
   * Connects to an application that waits for it, which logs in as any other does (drachtio's outbound mode).
   * @throws Error when it does not within two seconds
   */
  reach({ host, port, tls }: AppPlace): Promise<App> {
    return new Promise((resolve, reject) => {
      // Whoever operates us has named it; what it has to prove is our secret.
      const socket = tls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port });
      const timer = setTimeout(() => socket.destroy(new Error('it did not log in')), REACH_MS);
      socket.setNoDelay(true).once('error', reject);
      socket.once('close', () => {
        clearTimeout(timer);
        reject(new Error('it closed the connection'));
      });
      this.#accept(socket, app => {
        clearTimeout(timer);
        resolve(app);
      });
    });
  }

  /** Cuts all applications off and stops listening. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map(closePort));
  }

  #accept(socket: Socket, welcome: (app: App) => void = () => undefined): void {
    this.#sockets.add(socket);
    const connection = new AppConnection(this.#core(), this.#config.secret, socket, welcome);
    socket.on('data', chunk => connection.read(chunk));
    // The close that follows does the tidying.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      connection.closed();
    });
  }
}

/** One connection: nothing but a successful `authenticate` is heard before it. */
class AppConnection {
  readonly #core: Core;
  readonly #secret: string;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #login: NodeJS.Timeout;
  readonly #welcome: (app: App) => void;
  #app: App | undefined;

  constructor(core: Core, secret: string, socket: Socket, welcome: (app: App) => void) {
    this.#core = core;
    this.#welcome = welcome;
    this.#secret = secret;
    this.#socket = socket;
    this.#login = setTimeout(() => socket.destroy(), LOGIN_MS);
  }

  /** The connection is gone: what its application held goes too, after a time. */
  closed(): void {
    clearTimeout(this.#login);
    if (this.#app) abandon(this.#core, this.#app);
  }

  /** Takes what came; what is no frame ends the connection. */
  read(chunk: Buffer): void {
    const payloads = this.#reader.push(chunk);
    if (!payloads) return void this.#socket.destroy();
    for (const payload of payloads) if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#handle(payload);
  }

  #handle(payload: string): void {
    const end = payload.indexOf('\r\n');
    const [id = '', kind = '', ...fields] = (end < 0 ? payload : payload.slice(0, end)).split('|');
    if (kind === '') return this.#reject(payload.slice(0, 100), 'Invalid message format');
    if (kind === 'authenticate') return this.#authenticate(id, fields);
    if (!this.#app) return this.#reject(id, 'not authenticated');
    this.#serve(this.#app, id, kind, fields, end < 0 ? '' : payload.slice(end + 2));
  }

  #authenticate(id: string, [secret = '', tags = '']: string[]): void {
    if (!sameSecret(secret, this.#secret)) return this.#reject(id, 'incorrect secret');
    clearTimeout(this.#login);
    const first = !this.#app;
    const app = (this.#app ??= new App(this.#socket, tags.split(',').filter(Boolean).slice(0, MOST_TAGS)));
    this.#core.apps.add(app);
    const places = hostports(this.#core);
    app.ok(id, `${places}|${VERSION}|${places}`);
    if (first) this.#welcome(app);
  }

  #serve(app: App, id: string, kind: string, fields: string[], text: string): void {
    if (kind === 'sip') return serveSip(this.#core, app, id, fields, text);
    if (kind === 'ping') return app.ok(id, 'pong');
    if (kind === 'proxy') return serveProxy(this.#core, app, id, fields, text);
    if (kind === 'route' && app.verbs.size < MOST_VERBS) app.verbs.add((fields[0] ?? '').toLowerCase());
    else if (kind === 'remove_route') app.verbs.delete((fields[0] ?? '').toLowerCase());
    else return this.#reject(id, 'Unknown message type');
    app.ok(id);
  }

  #reject(id: string, reason: string): void {
    const answered = id.replace(/[\r\n]/g, ' ');
    this.#socket.end(frame(`${randomUUID()}|response|${answered}|NO|${reason}`));
  }
}

function hostports(core: Core): string {
  const places = core.stack.addresses.map(({ transport, host, port }) => {
    const local = core.stack.localFor({ transport, host, port });
    return `${transport}/${formatHostPort(local?.host ?? host, port)}`;
  });
  return places.join(',');
}

/** Which kind of `sip` message it is decides who handles it. */
function serveSip(core: Core, app: App, id: string, fields: string[], text: string): void {
  const [transactionId = '', dialogId = '', route = ''] = fields;
  const parsed = parseLoose(text);
  if (!parsed.ok) return app.nok(id, `invalid request-uri: ${text.slice(0, text.indexOf('\r\n'))}`);
  const { message } = parsed;
  if (!isRequest(message)) return sendAnswer(core, app, id, transactionId, message);
  if (dialogId !== '') return sendInDialog(core, app, id, dialogId, route, message);
  if (transactionId !== '' && message.method === 'CANCEL') return sendCancel(core, app, id, transactionId, message);
  sendNew(core, app, id, route, message);
}

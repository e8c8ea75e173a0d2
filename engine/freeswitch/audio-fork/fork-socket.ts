import type { ClientRequest, IncomingMessage } from 'node:http';
import { checkServerIdentity, TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';

const subprotocol = 'audio.drachtio.org';
const handshakeMs = 5000;
const closeMs = 3000;
const maxFrame = 16 * 1024 * 1024;
/** Whoever lets more wait unread, audio apart, is cut off. */
const maxUnread = 16 * 1024 * 1024;

/** How a fork proves itself and what it forgives, from the channel's variables (protocol page §10, connection). */
export interface ForkSocketOptions {
  credentials: { username: string; password: string } | null;
  allowSelfSigned: boolean;
  allowExpired: boolean;
  skipHostnameCheck: boolean;
}

/** What happens on the connection; nothing after `close()`. */
export interface ForkSocketEvents {
  opened(): void;
  text(text: string): void;
  audio(bytes: Buffer): void;
  /** The far end has closed, or the connection broke. */
  closed(): void;
  /** It never opened; the reason in the words of the real module. */
  failed(reason: string): void;
}

/** The WebSocket of one fork. Frames are bounded, nothing is compressed, redirects are not followed. */
export class ForkSocket {
  readonly #socket: WebSocket | null;
  readonly #events: ForkSocketEvents;
  #state: 'connecting' | 'open' | 'ended' = 'connecting';

  /** Connects to a `ws`, `wss`, `http` or `https` address. Everything that goes wrong is told by `failed`, later. */
  constructor(url: string, options: ForkSocketOptions, events: ForkSocketEvents) {
    this.#events = events;
    this.#socket = this.#connect(url, options);
    this.#socket?.on('unexpected-response', (_request, response) => this.#refused(response.statusCode ?? 0));
    this.#socket?.on('error', error => this.#fail(reasonOf(error))); // once it is open, `close` follows and tells
    this.#socket?.on('open', () => this.#opened());
    this.#socket?.on('close', () => this.#closed());
    this.#socket?.on('message', (data, isBinary) => this.#message(data as Buffer, isBinary));
  }

  /** True from the upgrade to the end. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Bytes that wait because the far end reads too slowly. */
  get backlog(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** Sends a text frame, or a binary one; nothing unless open. A far end that never reads loses the connection. */
  send(data: string | Buffer): void {
    if (!this.isOpen) return;
    this.#socket?.send(data);
    if (this.backlog > maxUnread) this.#socket?.terminate();
  }

  /** Reads nothing more until `resume`. */
  pause(): void {
    this.#socket?.pause();
  }

  /** Reads on. */
  resume(): void {
    if (this.isOpen) this.#socket?.resume();
  }

  /** Closes with 1000 once everything sent is out. No event follows. */
  close(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#socket?.resume(); // the far end's close frame must be read
    this.#socket?.close(1000);
  }

  #connect(url: string, options: ForkSocketOptions): WebSocket | null {
    try {
      const address = new URL(url);
      if (!/^(wss?|https?):$/.test(address.protocol)) throw new TypeError('is no address of a WebSocket');
      return new WebSocket(address, [subprotocol], clientOptions(address, options));
    } catch {
      setImmediate(() => this.#fail('Unable to connect')); // after the command's answer, like every other failure
      return null;
    }
  }

  #opened(): void {
    if (this.#state !== 'connecting') return;
    this.#state = 'open';
    this.#events.opened();
  }

  #message(data: Buffer, isBinary: boolean): void {
    if (this.#state !== 'open') return;
    if (isBinary) this.#events.audio(data);
    else this.#events.text(data.toString('utf8'));
  }

  #closed(): void {
    if (this.#state === 'open') {
      this.#state = 'ended';
      this.#events.closed();
    } else this.#fail('Unable to connect');
  }

  #refused(status: number): void {
    this.#fail(status === 401 ? 'HS: ws upgrade unauthorized' : 'HS: ws upgrade response not 101');
    this.#socket?.terminate();
  }

  #fail(reason: string): void {
    if (this.#state !== 'connecting') return;
    this.#state = 'ended';
    this.#events.failed(reason);
  }
}

function clientOptions(address: URL, options: ForkSocketOptions): WebSocket.ClientOptions & { closeTimeout: number } {
  const { credentials } = options;
  const secure = address.protocol === 'wss:' || address.protocol === 'https:';
  const lax = secure && (options.allowSelfSigned || options.allowExpired || options.skipHostnameCheck);
  const basic = Buffer.from(`${credentials?.username ?? ''}:${credentials?.password ?? ''}`).toString('base64');
  return {
    handshakeTimeout: handshakeMs,
    closeTimeout: closeMs,
    maxPayload: maxFrame,
    perMessageDeflate: false,
    followRedirects: false,
    origin: `${secure ? 'https' : 'http'}://${address.hostname}`,
    headers: {
      Pragma: 'no-cache',
      'Cache-Control': 'no-cache',
      ...(credentials ? { Authorization: `Basic ${basic}` } : {}),
    },
    ...(lax ? { rejectUnauthorized: false } : {}),
    finishRequest: request => finish(request, address.hostname.replace(/^\[(.*)\]$/, '$1'), lax ? options : null),
  };
}

/** A certificate that is not perfect is looked at before anything is sent, the password above all. */
function finish(request: ClientRequest, host: string, forgiving: ForkSocketOptions | null): void {
  request.prependOnceListener('upgrade', tolerateSilence);
  if (!forgiving) return void request.end();
  request.once('socket', socket =>
    socket.once('secureConnect', () => {
      const problem = socket instanceof TLSSocket ? problemOf(socket, host, forgiving) : null;
      if (problem === null) request.end();
      else request.destroy(Object.assign(new Error('certificate refused'), { code: problem }));
    }),
  );
}

/** A server that names no subprotocol agrees to the one it was offered, as in the real module. */
function tolerateSilence(response: IncomingMessage): void {
  response.headers['sec-websocket-protocol'] ??= subprotocol;
}

const selfSigned = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'];
const expired = 'CERT_HAS_EXPIRED';
const otherName = 'ERR_TLS_CERT_ALTNAME_INVALID';

/** The first thing wrong with a certificate that is not forgiven. Node stops at its first finding, so the rest is looked at here. */
function problemOf(socket: TLSSocket, host: string, options: ForkSocketOptions): string | null {
  const certificate = socket.getPeerCertificate();
  const found = new Set(socket.authorized ? [] : [String(socket.authorizationError)]);
  if (Date.parse(certificate.valid_to) < Date.now()) found.add(expired);
  if (checkServerIdentity(host, certificate)) found.add(otherName);
  if (options.allowSelfSigned) for (const one of selfSigned) found.delete(one);
  if (options.allowExpired) found.delete(expired);
  if (options.skipHostnameCheck) found.delete(otherName);
  return [...found][0] ?? null;
}

const tlsCodes = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_|SELF_|UNABLE_TO_|HOSTNAME_|INVALID_)/;

function reasonOf(error: Error & { code?: string }): string {
  return tlsCodes.test(error.code ?? '') ? `connect SSL err 1: ${error.code}` : 'Unable to connect';
}

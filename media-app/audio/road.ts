import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { newId } from '#contract/ids';
import type { Log } from '#process/log';

/** More than two seconds of audio in one message is not audio. */
const MOST_PAYLOAD = 64 * 1024;
const GUEST_PATH = /^\/([0-9a-f-]{36})\/([0-9a-f]{64})$/;

/** Somebody who was told where to connect. */
export interface Guest {
  /** Where to connect, once. */
  url: string;
  /** The connection. Rejects when nobody came in time or the invitation was taken back. */
  socket: Promise<WebSocket>;
  /** Takes the invitation back. */
  cancel(): void;
}

interface Expected {
  secret: Buffer;
  welcome(socket: WebSocket): void;
}

/**
 * The one road that audio takes which our code hears or speaks: a WebSocket server to which media servers fork the
 * audio of legs, and from which control-api fetches media streams. Nobody gets in without an invitation, which is good
 * for one connection.
 */
export class AudioRoad {
  readonly #host: string;
  readonly #log: Log;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD, perMessageDeflate: false });
  readonly #expected = new Map<string, Expected>();

  constructor(host: string, log: Log) {
    this.#host = host;
    this.#log = log;
    this.#server = createServer((_request, response) => response.writeHead(404).end());
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Listens on a free port. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, this.#host, resolve);
    });
  }

  /** Invites one connection, which must come within the time. */
  invite(within_ms: number): Guest {
    const [id, secret] = [newId(), randomBytes(32)];
    let cancel: () => void = () => undefined;
    const socket = new Promise<WebSocket>((resolve, reject) => {
      cancel = () => {
        this.#expected.delete(id);
        clearTimeout(timer);
        reject(new Error('nobody connected to the audio road'));
      };
      const timer = setTimeout(cancel, within_ms);
      this.#expected.set(id, { secret, welcome: come => (clearTimeout(timer), resolve(come)) });
    });
    socket.catch(() => undefined); // whoever awaits it hears of it
    return { url: `ws://${this.#address()}/${id}/${secret.toString('hex')}`, socket, cancel };
  }

  /** Closes every connection. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #address(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${isIPv6(this.#host) ? `[${this.#host}]` : this.#host}:${port}`;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', error => this.#log.debug({ error: String(error) }, 'a guest of the audio road broke off'));
    const expected = this.#admit(request.url ?? '');
    if (!expected) return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    this.#sockets.handleUpgrade(request, socket, head, guest => {
      guest.on('error', error => this.#log.debug({ error: error.message }, 'the audio road lost a guest'));
      expected.welcome(guest);
    });
  }

  #admit(path: string): Expected | undefined {
    const [, id = '', secret = ''] = GUEST_PATH.exec(path) ?? [];
    const expected = this.#expected.get(id);
    if (!expected || !timingSafeEqual(expected.secret, Buffer.from(secret, 'hex'))) return undefined;
    this.#expected.delete(id);
    return expected;
  }
}

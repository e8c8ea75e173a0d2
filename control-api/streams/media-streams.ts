import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { PlatformError } from '#contract/errors';
import { CLOSE } from '../events/connection.ts';
import { bindParams } from '../http/bind.ts';
import type { Context } from '../http/context.ts';
import { permit } from '../http/permit.ts';
import { refuseUpgrade } from '../http/refuse-upgrade.ts';
import { requestIdOf } from '../http/request-id.ts';
import { mediaStreamAddress } from '../resources/media-stream.ts';
import { type StreamPath, streamPath } from './path.ts';
import { Relay } from './relay.ts';

const MOST_STREAMS = 2000;
const MOST_PAYLOAD = 64 * 1024;
const CONNECT_MS = 5000;
/** Pause between pings; a client that answers none for three of them is gone. */
const PING_MS = 10_000;
/** How often the credential of every stream is looked at again. */
const IDENTIFY_MS = 60_000;

/** GET /v1.0/calls/{id}/media_stream and the same of conferences: everything is checked before the upgrade, then audio goes both ways. */
export class MediaStreams {
  readonly #server: Server;
  readonly #context: Context;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_PAYLOAD, clientTracking: false });
  readonly #relays = new Map<Relay, IncomingMessage>();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(server: Server, context: Context) {
    [this.#server, this.#context] = [server, context];
  }

  /** Takes upgrades from now on. */
  start(): void {
    this.#server.on('upgrade', this.#upgrade);
    this.#every(PING_MS, () => [...this.#relays.keys()].forEach(relay => relay.checkAlive(3 * PING_MS)));
    this.#every(IDENTIFY_MS, () => void this.#identifyAll());
  }

  /** Refuses new streams and closes the others. */
  stop(): void {
    this.#stopped = true;
    this.#server.off('upgrade', this.#upgrade);
    this.#timers.forEach(timer => clearInterval(timer));
    for (const relay of this.#relays.keys()) relay.close(CLOSE.going_away, 'server is shutting down');
  }

  #every(milliseconds: number, work: () => void): void {
    this.#timers.push(setInterval(work, milliseconds).unref());
  }

  readonly #upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const path = streamPath(request.url);
    if (path === undefined) return;
    const request_id = requestIdOf(request.headers['x-request-id']);
    const onError = (error: Error): void => this.#context.log.debug({ err: error }, 'client left during the upgrade');
    socket.on('error', onError);
    this.#open(request, path, request_id)
      .then(node => {
        if (socket.destroyed) return node.terminate();
        socket.off('error', onError);
        let upgraded = false;
        this.#sockets.handleUpgrade(request, socket, head, client => {
          upgraded = true;
          this.#relay(client, node, request);
        });
        if (!upgraded) node.terminate(); // ws has answered what was wrong with the handshake
      })
      .catch((error: unknown) => refuseUpgrade({ socket, request, request_id, log: this.#context.log }, error));
  };

  /** The connection to the node that holds the call or conference, not read yet. */
  async #open(request: IncomingMessage, { collection, id }: StreamPath, request_id: string): Promise<WebSocket> {
    if (this.#stopped || this.#relays.size >= MOST_STREAMS)
      throw new PlatformError('SERVICE_UNAVAILABLE', 'No more media streams at the moment.');
    this.#context.limits.countAddress('versioned', request);
    const identity = await this.#identify(request, true);
    const params = bindParams({ id });
    const query = new URL(request.url ?? '', 'ws://localhost').searchParams;
    const from = { client_ip: this.#context.limits.addressOf(request), incoming: request };
    const asked = { context: this.#context, identity, params, query: {}, body: undefined, request_id, ...from };
    const path = { collection, id: params['id'] ?? '' };
    return this.#connect(await mediaStreamAddress(asked, path, query.get('encapsulation')));
  }

  async #identify(request: IncomingMessage, counted: boolean) {
    const identity = await this.#context.authenticator.identify(request, counted);
    permit(identity, 'manager');
    return identity;
  }

  async #connect(url: string): Promise<WebSocket> {
    const node = new WebSocket(url, {
      handshakeTimeout: CONNECT_MS,
      maxPayload: MOST_PAYLOAD,
      perMessageDeflate: false,
    });
    node.once('open', () => node.pause()); // the first frame must not come before the client is there
    await once(node, 'open');
    return node;
  }

  #relay(client: WebSocket, node: WebSocket, request: IncomingMessage): void {
    const relay = new Relay(client, node, this.#context.log);
    this.#relays.set(relay, request);
    client.once('close', () => this.#relays.delete(relay));
    if (this.#stopped) relay.close(CLOSE.going_away, 'server is shutting down');
  }

  /** A stream ends with the token it was opened with (platform-api, media stream connection). */
  async #identifyAll(): Promise<void> {
    for (const [relay, request] of [...this.#relays])
      await this.#identify(request, false).catch((error: unknown) => {
        if (error instanceof PlatformError) relay.close(CLOSE.policy, 'the credential is no longer valid');
        else this.#context.log.warn({ err: error }, 'the credential of a media stream could not be checked');
      });
  }
}

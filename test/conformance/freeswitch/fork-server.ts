import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Endpoint, EngineUnderTest } from './engine-under-test.ts';
import { until, withEngine } from './engine-under-test.ts';

/** What the tests use of drachtio-fsmrf's audio forks. */
export interface ForkingEndpoint extends Endpoint {
  addCustomEventListener(name: string, listener: (body: unknown) => void): void;
  forkAudioStart(options: {
    wsUrl: string;
    mixType?: string;
    sampling?: string;
    bugname?: string;
    metadata?: object | string;
    bidirectionalAudio?: { enabled?: string; streaming?: string; sampleRate?: string };
  }): Promise<void>;
  forkAudioSendText(nameOrText: string | object, text?: string | object): Promise<void>;
  forkAudioPause(name: string, silence?: boolean): Promise<void>;
  forkAudioResume(name?: string): Promise<void>;
  forkAudioStop(name?: string | object, text?: object): Promise<void>;
}

/** One connection of a fork as the far end sees it. */
export class FarEnd {
  readonly texts: string[] = [];
  readonly frames: { at: number; bytes: Buffer }[] = [];
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  closedWith: number | null = null;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.frames.push({ at: performance.now(), bytes: data as Buffer });
      else this.texts.push((data as Buffer).toString('utf8'));
    });
    socket.on('close', code => (this.closedWith = code));
    socket.on('error', () => undefined); // a broken connection shows in closedWith
  }

  /** Resolves with the next frames, this many. */
  async hears(count: number): Promise<Buffer[]> {
    const from = this.frames.length;
    await until(() => this.frames.length >= from + count, `${count} frames`, 8000);
    return this.frames.slice(from, from + count).map(frame => frame.bytes);
  }

  async says(text: string): Promise<void> {
    await until(() => this.texts.includes(text), `the text ${text}, heard ${this.texts.join(' ')}`);
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  async closed(): Promise<number> {
    await until(() => this.closedWith !== null, 'the end of the connection');
    return this.closedWith ?? 0;
  }
}

/** A WebSocket server that forks connect to; `/404` and `/401` refuse. */
export class ForkServer {
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #connections: FarEnd[] = [];
  readonly #events = new EventEmitter();

  private constructor(http: Server, sockets: WebSocketServer, told: (text: string) => void) {
    this.#http = http;
    this.#sockets = sockets;
    sockets.on('connection', (socket, request) => {
      socket.on('message', (data, isBinary) => isBinary || told(`text ${(data as Buffer).toString('utf8')}`));
      this.#connections.push(new FarEnd(socket, request));
      this.#events.emit('connection');
    });
    http.on('upgrade', (request, socket, head) => {
      told(`GET ${request.url ?? ''}`);
      const refusal = /^\/(40\d)/.exec(request.url ?? '')?.[1];
      if (refusal) return void socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
      sockets.handleUpgrade(request, socket, head, one => sockets.emit('connection', one, request));
    });
  }

  /** Answers with the first subprotocol offered, or with none. `told` gets `GET <path>` and `text <frame>` of every connection. */
  static async open(
    http: Server = createServer(),
    subprotocol = true,
    told: (text: string) => void = () => undefined,
  ): Promise<ForkServer> {
    const handleProtocols = subprotocol ? undefined : () => false as const;
    const server = new ForkServer(
      http,
      new WebSocketServer({ noServer: true, ...(handleProtocols ? { handleProtocols } : {}) }),
      told,
    );
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return server;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  url(path = '/'): string {
    return `ws://127.0.0.1:${this.port}${path}`;
  }

  /** The connection of a path, once it is there. */
  async connected(path = '/'): Promise<FarEnd> {
    const find = (): FarEnd | undefined => this.#connections.findLast(one => one.request.url === path);
    await until(() => find() !== undefined, `a connection for ${path}`);
    return find() as FarEnd;
  }

  /** The connection that was opened last. */
  get last(): FarEnd | undefined {
    return this.#connections.at(-1);
  }

  get size(): number {
    return this.#connections.length;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, 'close');
  }
}

/** Starts an engine and a server for its forks before the tests of a suite, and stops both behind them. */
export function withForks(take: (under: EngineUnderTest, server: ForkServer) => unknown): void {
  let server: ForkServer;
  withEngine(async under => {
    server = await ForkServer.open();
    await take(under, server);
  });
  after(() => server.close());
}

/** A call whose endpoint can fork, with what it is told of its forks. */
export async function forkingCall(
  under: EngineUnderTest,
): Promise<{ endpoint: ForkingEndpoint; peer: Awaited<ReturnType<EngineUnderTest['call']>>['peer']; told: string[] }> {
  const { endpoint, peer } = await under.call();
  const told: string[] = [];
  for (const name of forkEvents)
    (endpoint as ForkingEndpoint).addCustomEventListener(`mod_audio_fork::${name}`, body => {
      told.push(body ? `${name} ${typeof body === 'string' ? body : JSON.stringify(body)}` : name);
    });
  await endpoint.api('create_uuid'); // its answer comes after the subscriptions
  return { endpoint: endpoint as ForkingEndpoint, peer, told };
}

const forkEvents = [
  'connect',
  'connect_failed',
  'disconnect',
  'error',
  'play_audio',
  'kill_audio',
  'transcription',
  'transfer',
  'json',
  'buffer_overrun',
];

/** One channel of little-endian 16-bit audio. */
export function samplesOf(frames: Buffer[], channel = 0, channels = 1): Int16Array {
  const bytes = Buffer.concat(frames);
  const samples = new Int16Array(Math.floor(bytes.length / 2 / channels));
  for (let i = 0; i < samples.length; i += 1) samples[i] = bytes.readInt16LE((i * channels + channel) * 2);
  return samples;
}

/** Peak amplitude of a tone among samples of a rate (Goertzel), written out here so that the test shares no ear with the engine. */
export function amplitudeOf(samples: Int16Array, hz: number, rate: number): number {
  let re = 0;
  let im = 0;
  for (let i = 0; i < samples.length; i += 1) {
    const angle = (2 * Math.PI * hz * i) / rate;
    re += (samples[i] ?? 0) * Math.cos(angle);
    im += (samples[i] ?? 0) * Math.sin(angle);
  }
  return (2 * Math.hypot(re, im)) / samples.length;
}

/** Bytes of a tone. */
export function tone(hz: number, ms: number, rate: number, amplitude = 8000): Buffer {
  const samples = Math.round((ms * rate) / 1000);
  const bytes = Buffer.alloc(samples * 2);
  for (let i = 0; i < samples; i += 1)
    bytes.writeInt16LE(Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / rate)), i * 2);
  return bytes;
}

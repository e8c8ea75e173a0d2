import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { EventMessage } from '#contract/events';
import type { Stack } from '../../test/support/stack.ts';

const RECONNECT_MS = 50;

/** A WebSocket client that comes back whenever it is cut off, and resumes behind the last event it saw. */
export class ResumingClient {
  /** Everything it was ever sent, in order. */
  readonly heard: EventMessage[] = [];
  connections = 0;
  readonly #stack: Stack;
  #socket: WebSocket | undefined;
  #last: number;
  #active = true;
  #running: Promise<void> = Promise.resolve();

  readonly #onEvent: (event: EventMessage) => void;

  constructor(stack: Stack, afterSequence: number, onEvent: (event: EventMessage) => void = () => undefined) {
    this.#stack = stack;
    this.#onEvent = onEvent;
    this.#last = afterSequence;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#active = false;
    this.#socket?.terminate();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#active) {
      await this.#connect();
      await wait(RECONNECT_MS);
    }
  }

  /** Settles when the connection is gone. */
  async #connect(): Promise<void> {
    const { baseUrl, welcome } = this.#stack;
    const socket = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}/v1.0/ws?accesskey=${welcome.accesskey}`);
    this.#socket = socket;
    socket.on('open', () => {
      this.connections += 1;
      const topics = [`customer_id:${welcome.customer_id}`];
      socket.send(JSON.stringify({ type: 'subscribe', topics, after_sequence: this.#last }));
    });
    socket.on('message', (data: Buffer) => {
      const event = JSON.parse(data.toString()) as EventMessage;
      this.heard.push(event);
      this.#last = event.sequence;
      this.#onEvent(event);
    });
    socket.on('error', () => undefined); // 'close' follows
    await new Promise(resolve => socket.once('close', resolve));
  }
}

/** A webhook receiver; what it was sent, the first time of each. */
export class Receiver {
  readonly received = new Map<string, EventMessage>();
  /** Events that came again: at least once is what is promised. */
  repeated = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.#take(JSON.parse(Buffer.concat(chunks).toString()) as EventMessage);
        response.end();
      });
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>(resolve => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #take(event: EventMessage): void {
    if (this.received.has(event.id)) this.repeated += 1;
    else this.received.set(event.id, event);
  }
}

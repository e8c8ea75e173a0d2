import type { Socket } from 'node:net';

/** How long a message may take from its first byte to its last. One that takes longer ends its connection. */
export class MessageClock {
  readonly #socket: Socket;
  readonly #patienceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, patienceMs: number) {
    this.#socket = socket;
    this.#patienceMs = patienceMs;
    socket.once('close', () => this.stop());
  }

  /** Runs on where it runs already. */
  start(): void {
    this.#timer ??= setTimeout(() => this.#socket.destroy(), this.#patienceMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

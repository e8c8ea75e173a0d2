import { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import type { FarEnd } from './stream.ts';

/** A far end that reads too slowly misses frames instead of filling our memory: two seconds wait at most. */
const MOST_BACKLOG = 2 * 50 * 332;

/** A WebSocket as the far end of a stream: binary messages are frames, text is ignored. */
export class SocketEnd extends EventEmitter<{ frame: [frame: Buffer]; closed: [] }> implements FarEnd {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.emit('frame', data);
    });
    socket.once('close', () => this.emit('closed'));
  }

  send(frame: Buffer): void {
    if (this.#socket.readyState === this.#socket.OPEN && this.#socket.bufferedAmount < MOST_BACKLOG)
      this.#socket.send(frame);
  }

  close(): void {
    this.#socket.close(1000, 'the stream is over');
  }
}

import { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import type { ForkMix, MediaEndpoint } from '../media/endpoint.ts';
import { FRAME_BYTES } from './encapsulation.ts';
import { Frames } from './frames.ts';
import type { AudioRoad } from './road.ts';

const CONNECT_MS = 5000;
/** What may wait for a media server that does not read: half a minute of audio. */
const MOST_BACKLOG = 30 * 16_000;

let count = 0;

/**
 * A leg's audio both ways: `frame` has 20 ms of what is heard (16-bit little-endian at 8 kHz), `send` speaks to the
 * party. Emits `closed` once, when the leg or the media server is gone or after `close`.
 */
export class AudioFork extends EventEmitter<{ frame: [samples: Buffer]; closed: [] }> {
  readonly endpoint: MediaEndpoint;
  readonly #socket: WebSocket;
  readonly #name: string;

  private constructor(endpoint: MediaEndpoint, socket: WebSocket, name: string, mix: ForkMix) {
    super();
    [this.endpoint, this.#socket, this.#name] = [endpoint, socket, name];
    const frames = new Frames(mix === 'stereo' ? 2 * FRAME_BYTES : FRAME_BYTES);
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) for (const frame of frames.push(data)) this.emit('frame', frame);
    });
    socket.once('close', () => this.emit('closed'));
  }

  /** Forks a leg. Rejects when it has no media or the media server does not come. */
  static async open(road: AudioRoad, endpoint: MediaEndpoint, mix: ForkMix): Promise<AudioFork> {
    const guest = road.invite(CONNECT_MS);
    const name = `road_${(count += 1)}`;
    try {
      await endpoint.fork({ url: guest.url, mix, name });
      return new AudioFork(endpoint, await guest.socket, name, mix);
    } catch (error) {
      guest.cancel();
      await endpoint.stopFork(name);
      throw error;
    }
  }

  get open(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Speaks: samples like those of `frame`, any number of them. Nothing when closed or when far too much waits. */
  send(samples: Buffer): void {
    if (this.open && this.#socket.bufferedAmount < MOST_BACKLOG) this.#socket.send(samples);
  }

  /** Ends it; what was spoken and not heard yet is not heard any more. */
  async close(): Promise<void> {
    if (!this.open) return;
    await this.endpoint.stopFork(this.#name);
    this.#socket.close(1000);
  }
}

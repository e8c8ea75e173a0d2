import type { EventEmitter } from 'node:events';
import type { Log } from '../log.ts';
import type { ForkMix, MediaEndpoint } from '../media/endpoint.ts';
import type { CallAudio, CallStream, StreamedCall } from './call-audio.ts';
import type { Encapsulation } from './encapsulation.ts';
import { AudioFork } from './fork.ts';
import type { AudioRoad } from './road.ts';

/** Whoever gets a call's audio and sends other audio, in frames of an encapsulation. */
export interface FarEnd extends EventEmitter<{ frame: [frame: Buffer]; closed: [] }> {
  send(frame: Buffer): void;
  close(): void;
}

interface Given {
  call: StreamedCall;
  audio: CallAudio;
  road: AudioRoad;
  log: Log;
}

/**
 * One stream between a call and a far end, for as long as both are there. What the far end sends is heard by the party
 * and, while the call is bridged, by the other side.
 */
export class AudioStream implements CallStream {
  readonly #given: Given;
  #far: FarEnd | undefined;
  #fork: AudioFork | undefined;
  /** Speaks to the other side of the bridge; `undefined` until there is something to say to it. */
  #other: { endpoint: MediaEndpoint; fork: Promise<AudioFork | undefined> } | undefined;
  #over = false;

  /** Takes one of the call's places. Throws a PlatformError when there is none. */
  constructor(given: Given) {
    this.#given = given;
    given.audio.enter(this);
  }

  /** Joins call and far end. Rejects when the call's audio cannot be had; the stream is over then. */
  async join(far: FarEnd, wrapping: Encapsulation, mix: ForkMix = 'mixed'): Promise<void> {
    this.#far = far;
    far.once('closed', () => this.end());
    try {
      const { endpoint } = this.#given.call;
      if (!endpoint) throw new Error('the call has no media');
      const fork = (this.#fork = await AudioFork.open(this.#given.road, endpoint, mix));
      if (this.#over) return void fork.close();
      fork.once('closed', () => this.end());
      fork.on('frame', samples => far.send(wrapping.encode(samples)));
      far.on('frame', frame => this.#speak(wrapping.decode(frame)));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#given.audio.leave(this);
    this.#far?.close();
    void this.#fork?.close();
    void this.#other?.fork.then(fork => fork?.close());
  }

  #speak(samples: Buffer | undefined): void {
    if (!samples || this.#over) return;
    this.#fork?.send(samples);
    const other = this.#given.call.peerEndpoint;
    if (other) void this.#towards(other).then(fork => fork?.send(samples));
  }

  /** The bridge may have changed since the last frame. */
  #towards(endpoint: MediaEndpoint): Promise<AudioFork | undefined> {
    if (this.#other?.endpoint === endpoint) return this.#other.fork;
    void this.#other?.fork.then(fork => fork?.close());
    const fork = AudioFork.open(this.#given.road, endpoint, 'mono').catch((error: unknown) => {
      this.#given.log.warn({ error: String(error) }, 'the other side does not hear a media stream');
      return undefined;
    });
    this.#other = { endpoint, fork };
    return fork;
  }
}

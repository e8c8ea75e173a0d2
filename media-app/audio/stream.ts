import type { EventEmitter } from 'node:events';
import type { Log } from '#process/log';
import type { ForkMix, MediaEndpoint } from '../media/endpoint.ts';
import type { Encapsulation } from './encapsulation.ts';
import { AudioFork } from './fork.ts';
import type { AudioRoad } from './road.ts';
import type { RunningStream, Streamed, Streams } from './streams.ts';

/** Whoever gets the audio of a call or conference and sends other audio, in frames of an encapsulation. */
export interface FarEnd extends EventEmitter<{ frame: [frame: Buffer]; closed: [] }> {
  send(frame: Buffer): void;
  close(): void;
}

interface Given {
  of: Streamed;
  audio: Streams;
  road: AudioRoad;
  log: Log;
  external?: boolean;
  /** Told once, when it has ended. */
  onEnd?: () => void;
}

/** What the far end hears and who hears it, seen from the call (contract/external-media.ts). */
export interface Directions {
  listen: 'in' | 'out' | 'both';
  speak: 'in' | 'out' | 'both';
}

const BOTH: Directions = { listen: 'both', speak: 'both' };
const MIX: Record<Directions['listen'], ForkMix> = { in: 'mono', out: 'stereo', both: 'mixed' };

/** The right one of two interleaved channels. */
const rightOf = (samples: Buffer): Buffer => {
  const right = Buffer.alloc(samples.length / 2);
  for (let at = 0; at < right.length; at += 2) samples.copy(right, at, 2 * at + 2, 2 * at + 4);
  return right;
};

/**
 * One stream between a call or conference and a far end, for as long as both are there. What the far end sends is heard by the party
 * and, while the call is bridged, by the other side.
 */
export class AudioStream implements RunningStream {
  readonly external: boolean;
  readonly #given: Given;
  #far: FarEnd | undefined;
  #fork: AudioFork | undefined;
  /** Speaks to the other side of the bridge; `undefined` until there is something to say to it. */
  #other: { endpoint: MediaEndpoint; fork: Promise<AudioFork | undefined> } | undefined;
  #over = false;

  /** Takes one of the places. Throws a PlatformError when there is none. */
  constructor(given: Given) {
    this.#given = given;
    this.external = given.external ?? false;
    given.audio.enter(this);
  }

  /** Joins call and far end. Rejects when the call's audio cannot be had; the stream is over then. */
  async join(far: FarEnd, wrapping: Encapsulation, directions = BOTH): Promise<void> {
    this.#far = far;
    far.once('closed', () => this.end());
    try {
      if (this.#over) throw new Error('the stream is over already');
      const { endpoint } = this.#given.of;
      if (!endpoint) throw new Error('the call has no media');
      const fork = (this.#fork = await AudioFork.open(this.#given.road, endpoint, MIX[directions.listen]));
      if (this.#over) return void fork.close();
      fork.once('closed', () => this.end());
      const heard = directions.listen === 'out' ? rightOf : (samples: Buffer) => samples;
      fork.on('frame', samples => far.send(wrapping.encode(heard(samples))));
      far.on('frame', frame => this.#speak(wrapping.decode(frame), directions));
    } catch (error) {
      this.end();
      far.close();
      throw error;
    }
  }

  /** Ends it on both sides; twice is no error. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#given.audio.leave(this);
    this.#far?.close();
    void this.#fork?.close();
    void this.#other?.fork.then(fork => fork?.close());
    this.#given.onEnd?.();
  }

  #speak(samples: Buffer | undefined, { speak }: Directions): void {
    if (!samples || this.#over) return;
    if (speak !== 'in') this.#fork?.send(samples);
    const other = speak === 'out' ? undefined : this.#given.of.peerEndpoint;
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

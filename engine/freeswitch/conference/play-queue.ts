import type { FrameSource } from '../../media/audio-leg.ts';
import { openSource } from '../../media/sources/open-source.ts';
import { sampleRate } from '../../media/clock.ts';
import type { Conference } from './conference.ts';
import { fetchSound } from '../sound-cache.ts';
import { Track } from './track.ts';

const maxQueued = 100;
const soonestDoneMs = 100;

/** Where a queue plays, and who is told. */
export interface PlayPort {
  start(source: FrameSource, onEnd: () => void): () => void;
  /** A file has been played, or stopped after this many samples of this rate. */
  done(file: string, samples: number, rate: number): void;
}

interface Item {
  file: string;
  track: Track;
  queuedAt: number;
  /** Whether its end is told. */
  told: boolean;
}

/** Sounds that are played one after the other, to a whole conference or to one member. */
export class PlayQueue {
  readonly #port: PlayPort;
  readonly #waiting: Item[] = [];
  readonly #untold: { item: Item; samples: number }[] = [];
  #timer: NodeJS.Timeout | null = null;
  #current: { item: Item; stop: () => void } | null = null;

  constructor(port: PlayPort) {
    this.#port = port;
  }

  /** Sounds playing or waiting. */
  get size(): number {
    return this.#waiting.length + (this.#current ? 1 : 0);
  }

  /** What plays now. */
  get playing(): Readonly<Pick<Item, 'file' | 'track'>> | undefined {
    return this.#current?.item;
  }

  /** Plays a sound after those that wait; nobody is told the end of one that nobody asked for. False when there are too many. */
  add(file: string, source: FrameSource, told = true): boolean {
    if (this.size >= maxQueued) return false;
    this.#waiting.push({ file, track: new Track(source), queuedAt: performance.now(), told });
    if (!this.#current) this.#next();
    return true;
  }

  /** Stops what plays, and with `all` what waits too; gives how many. */
  stop(all: boolean): number {
    const dropped = all ? this.#waiting.splice(0) : [];
    const current = this.#current;
    if (current) {
      current.stop();
      this.#finished(current.item);
    }
    for (const item of dropped) this.#tell(item, 0);
    return dropped.length + (current ? 1 : 0);
  }

  /** Stops everything and tells so at once: whoever waits for a sound need not wait for ever. */
  end(): void {
    this.stop(true);
    const untold = this.#untold.splice(0);
    this.close();
    for (const { item, samples } of untold) this.#done(item, samples);
  }

  /** Gives everything up without a word: there is nobody left to hear it. */
  close(): void {
    this.#waiting.length = 0;
    this.#current?.stop();
    this.#current = null;
    this.#untold.length = 0;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #next(): void {
    const item = this.#waiting.shift();
    this.#current = item
      ? { item, stop: this.#port.start(item.track, () => this.#current?.item === item && this.#finished(item)) }
      : null;
  }

  #finished(item: Item): void {
    this.#next();
    this.#tell(item, item.track.position ?? 0);
  }

  /**
   * Not before the client knows what it waits for: drachtio-fsmrf looks for the end of a file only when all files of
   * its list have been accepted (protocol page §8), so the end of a very short one would be missed. In order, because it
   * looks for one file after the other.
   */
  #tell(item: Item, samples: number): void {
    if (!item.told) return;
    this.#untold.push({ item, samples });
    if (!this.#timer) this.#tellDue();
  }

  #tellDue(): void {
    this.#timer = null;
    for (let next = this.#untold[0]; next; next = this.#untold[0]) {
      const wait = next.item.queuedAt + soonestDoneMs - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#tellDue(), wait);
        return;
      }
      this.#untold.shift();
      this.#done(next.item, next.samples);
    }
  }

  #done({ file, track }: Item, samples: number): void {
    this.#port.done(file, samples, track.rate ?? sampleRate);
  }
}

/**
 * Opens a sound for a conference as `conference … play` names it: a file, a tone, silence or an http address.
 * @param seek how far into it to begin, in samples of the conference's rate
 * @throws Error when it cannot be found or played
 */
export async function openSound(
  { core: { options }, rate }: Conference,
  file: string,
  seek?: number,
): Promise<FrameSource> {
  const path = /^https?:\/\//i.test(file) ? await fetchSound(file, options.cacheDir) : file;
  return openSource(path, { soundsDir: options.soundsDir, rate, ...(seek === undefined ? {} : { seek }) });
}

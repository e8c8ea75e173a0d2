import type { Channel } from '../channel.ts';
import type { ForkStart } from './arguments.ts';
import { defaultName } from './arguments.ts';
import { AudioFork } from './audio-fork.ts';

const maxForks = 8;

/** The forks of one channel by their bug names. */
export class AudioForks {
  readonly #channel: Channel;
  readonly #forks = new Map<string, AudioFork>();
  #files = 0;
  #closed = false;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Starts one. False when its name is in use, too many run or the call has ended. */
  start(options: ForkStart): boolean {
    if (this.#closed || this.#forks.get(options.name)?.alive) return false;
    this.stop(options.name, null); // one that lost its far end makes room
    if (this.#forks.size >= maxForks && !this.#dropDead()) return false;
    this.#forks.set(options.name, new AudioFork(this.#channel, options, () => this.#files++));
    return true;
  }

  /** The fork of a name, or of the default name; undefined when there is none. */
  find(name: string | null): AudioFork | undefined {
    return this.#forks.get(name ?? defaultName);
  }

  /** Stops one after a last text; false when there is none. */
  stop(name: string | null, text: string | null): boolean {
    const fork = this.find(name);
    fork?.stop(text);
    return fork !== undefined && this.#forks.delete(fork.name);
  }

  /** Stops all of them: the call has ended. */
  close(): void {
    this.#closed = true;
    for (const fork of this.#forks.values()) fork.stop(null);
    this.#forks.clear();
  }

  #dropDead(): boolean {
    const dead = [...this.#forks.values()].find(one => !one.alive);
    return dead !== undefined && this.stop(dead.name, null);
  }
}

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { FileCache, freshFile } from '../file-cache.ts';
import { unlessAborted } from '../unless-aborted.ts';

/** Largest audio file a flow may play, in bytes: about an hour of 8 kHz, 16 bit. */
const MAX_BYTES = 60 * 1024 * 1024;

/** What all of them may take: an address with a variable in it is another one with every call. */
const CACHE_BYTES = 1024 * 1024 * 1024;

/** Tones and silences without `$`, which a media server would expand as a variable or command, and without file names. */
const GENERATED = /^(tone_stream|silence_stream):\/\/(?!.*path=)[\w%(),.;:=+<>*# -]+$/i;

/** Fetches a customer's URL with all guards on, piece by piece. */
export type FetchAudio = (url: string, maxBytes: number) => AsyncIterable<Buffer>;

/**
 * The audio a flow names by URL, as files a media server can open. Files are fetched once, through the guard against
 * private addresses, also for many calls at once, and kept by the hash of their URL as long as there is room. Paths are never taken from a flow: only http, https and the
 * media server's own generators.
 */
export class AudioLibrary {
  readonly #cache: FileCache;
  readonly #fetch: FetchAudio;
  /** What is being fetched now, by name. */
  readonly #fetching = new Map<string, Promise<string>>();

  constructor(folder: string, fetch: FetchAudio, maxBytes = CACHE_BYTES) {
    this.#cache = new FileCache(folder, maxBytes);
    this.#fetch = fetch;
  }

  /**
   * What to play for each URL, in order.
   * @throws Error for a URL of another scheme, an unreachable one, or one that is too large
   */
  open(urls: string[], signal: AbortSignal): Promise<string[]> {
    return unlessAborted(Promise.all(urls.map(url => this.#open(url))), signal);
  }

  async #open(url: string): Promise<string> {
    if (GENERATED.test(url)) return url;
    if (!/^https?:\/\//i.test(url))
      throw new Error(`only http and https audio can be played, not ${url.slice(0, 100)}`);
    const extension = /^\.(wav|mp3|ogg|flac|r8|r16)$/i.exec(extname(new URL(url).pathname))?.[0] ?? '.wav';
    const name = this.#cache.nameOf([url], extension.toLowerCase());
    return this.#fetching.get(name) ?? this.#find(url, name);
  }

  #find(url: string, name: string): Promise<string> {
    const fetching = this.#findOrFetch(url, name).finally(() => this.#fetching.delete(name));
    this.#fetching.set(name, fetching);
    fetching.catch(() => undefined); // told to those who wait; perhaps nobody does any more
    return fetching;
  }

  async #findOrFetch(url: string, name: string): Promise<string> {
    const found = await this.#cache.find(name);
    if (found) return found;
    await mkdir(this.#cache.dir, { recursive: true });
    const part = freshFile(this.#cache.dir);
    try {
      await writeFile(part, this.#fetch(url, MAX_BYTES));
      return await this.#cache.keep(part, name); // whole or not at all
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';

/** Largest audio file a flow may play, in bytes: about an hour of 8 kHz, 16 bit. */
const MAX_BYTES = 60 * 1024 * 1024;

/** Tones and silences without `$`, which a media server would expand as a variable or command, and without file names. */
const GENERATED = /^(tone_stream|silence_stream):\/\/(?!.*path=)[\w%(),.;:=+<>*# -]+$/i;

/** Fetches a customer's URL with all guards on. */
export type FetchAudio = (url: string, options: { maxBytes: number; signal: AbortSignal }) => Promise<Buffer>;

/**
 * The audio a flow names by URL, as files a media server can open. Files are fetched once, through the guard against
 * private addresses, and kept by the hash of their URL. Paths are never taken from a flow: only http, https and the
 * media server's own generators.
 */
export class AudioLibrary {
  readonly #folder: string;
  readonly #fetch: FetchAudio;

  constructor(folder: string, fetch: FetchAudio) {
    this.#folder = resolve(folder); // media servers look relative names up below their own sounds
    this.#fetch = fetch;
  }

  /**
   * What to play for each URL, in order.
   * @throws Error for a URL of another scheme, an unreachable one, or one that is too large
   */
  open(urls: string[], signal: AbortSignal): Promise<string[]> {
    return Promise.all(urls.map(url => this.#open(url, signal)));
  }

  async #open(url: string, signal: AbortSignal): Promise<string> {
    if (GENERATED.test(url)) return url;
    if (!/^https?:\/\//i.test(url))
      throw new Error(`only http and https audio can be played, not ${url.slice(0, 100)}`);
    const extension = /^\.(wav|mp3|ogg|flac|r8|r16)$/i.exec(extname(new URL(url).pathname))?.[0] ?? '.wav';
    const file = join(this.#folder, createHash('sha256').update(url).digest('hex') + extension.toLowerCase());
    if (!(await exists(file))) await this.#download(url, file, signal);
    return file;
  }

  async #download(url: string, file: string, signal: AbortSignal): Promise<void> {
    const audio = await this.#fetch(url, { maxBytes: MAX_BYTES, signal });
    await mkdir(this.#folder, { recursive: true });
    const partial = `${file}.${randomBytes(6).toString('hex')}`;
    await writeFile(partial, audio);
    await rename(partial, file); // whole or not at all
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

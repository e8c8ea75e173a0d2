import type { FlowLog, Speech as SpeechRequest } from '#flow/action';
import { FileCache } from '../file-cache.ts';
import { NEVER_ABORTED, unlessAborted } from '../unless-aborted.ts';
import { espeak } from './espeak.ts';
import { flite } from './flite.ts';
import type { SpeechProvider } from './provider.ts';
import { Slots } from './slots.ts';

/** Text to speech with a cache. */
export interface Speech {
  /**
   * The absolute path of a WAV file (8 kHz, 16-bit, mono) that says the text.
   *
   * @throws Error when no provider can say it, or the signal's reason when it aborts
   */
  synthesize(speech: SpeechRequest, signal?: AbortSignal): Promise<string>;
  /** Names of the providers whose programs are installed, for the log and the state of health. */
  providers(): Promise<string[]>;
}

export interface SpeechOptions {
  /** Made when missing; belongs to one media-app. */
  cacheDir: string;
  log: Pick<FlowLog, 'warn'>;
  /** Size of the cache. */
  maxBytes?: number;
  /** How many programs run at once. */
  parallel?: number;
}

/** Raised when the way speech is made changes, so that old files are not used. */
const GENERATION = 1;

const CACHE_BYTES = 512 * 1024 * 1024;

class CachedSpeech implements Speech {
  readonly #cache: FileCache;
  readonly #espeak: SpeechProvider;
  readonly #flite: SpeechProvider;
  readonly #slots: Slots;
  readonly #log: Pick<FlowLog, 'warn'>;
  /** What is being made now, by name, so that callers who want the same share it. */
  readonly #making = new Map<string, Promise<string>>();

  constructor({ cacheDir, log, maxBytes = CACHE_BYTES, parallel = 4 }: SpeechOptions) {
    this.#cache = new FileCache(cacheDir, maxBytes);
    this.#espeak = espeak({ dir: this.#cache.dir });
    this.#flite = flite({ dir: this.#cache.dir });
    this.#slots = new Slots(parallel);
    this.#log = log;
  }

  async synthesize(speech: SpeechRequest, signal: AbortSignal = NEVER_ABORTED): Promise<string> {
    const [first, second] = this.#providers(speech);
    try {
      return await this.#made(first, speech, signal);
    } catch (error) {
      if (signal.aborted || !second) throw error;
      this.#log.warn({ provider: first.name, reason: String(error) }, 'speech falls back to the other provider');
      return this.#made(second, { ...speech, voice_id: '' }, signal);
    }
  }

  async providers(): Promise<string[]> {
    const all = [this.#flite, this.#espeak];
    const installed = await Promise.all(all.map(provider => provider.available()));
    return all.filter((_, index) => installed[index]).map(({ name }) => name);
  }

  /** The provider to ask first and the one to fall back to, if it speaks the language (voice-and-flows 6.3 talk). */
  #providers({ provider, language }: SpeechRequest): [SpeechProvider, SpeechProvider?] {
    if (!this.#flite.speaks(language)) return [this.#espeak];
    return provider === 'provider_c' ? [this.#espeak, this.#flite] : [this.#flite, this.#espeak];
  }

  async #made(provider: SpeechProvider, speech: SpeechRequest, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const name = this.#cache.nameOf([GENERATION, provider.name, speech.voice_id, speech.language, speech.text]);
    const making = this.#making.get(name) ?? this.#make(provider, speech, name);
    return unlessAborted(making, signal);
  }

  #make(provider: SpeechProvider, speech: SpeechRequest, name: string): Promise<string> {
    const making = this.#findOrSynthesize(provider, speech, name).finally(() => this.#making.delete(name));
    this.#making.set(name, making);
    making.catch(() => undefined); // told to those who wait; perhaps nobody does any more
    return making;
  }

  async #findOrSynthesize(provider: SpeechProvider, speech: SpeechRequest, name: string): Promise<string> {
    const found = await this.#cache.find(name);
    if (found) return found;
    return this.#slots.use(async () => {
      const made = await provider.synthesize(speech, NEVER_ABORTED);
      return this.#cache.keep(made, name);
    });
  }
}

/** Makes the text to speech of one media-app. Nothing runs until the first text. */
export const createSpeech = (options: SpeechOptions): Speech => new CachedSpeech(options);

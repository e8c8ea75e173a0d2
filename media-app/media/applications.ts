import { setTimeout as pause } from 'node:timers/promises';
import type { Endpoint, EslEvent } from 'drachtio-fsmrf';
import type { Log } from '#process/log';

/** How long an application may take to end before it is told so again. */
const BREAK_AGAIN_MS = 60;

/** The applications of one leg that last, one at a time: each until it is over, aborted, or the leg is gone. */
export class Applications {
  readonly #endpoint: Endpoint;
  readonly #gone: Promise<void>;
  readonly #log: Log;
  /** Those that were told to end and have not yet. */
  readonly #ending = new Set<Promise<unknown>>();

  constructor(endpoint: Endpoint, gone: Promise<void>, log: Log) {
    this.#endpoint = endpoint;
    this.#gone = gone;
    this.#log = log;
  }

  /**
   * Resolves with its end; `undefined` when there was none, or nothing was begun any more. One that was told to end is waited
   * for: FreeSWITCH would run the next one inside of it, and end that one with it.
   */
  async run(name: string, argument: string, signal?: AbortSignal): Promise<EslEvent | undefined> {
    await Promise.all(this.#ending);
    if (signal?.aborted || !this.#endpoint.connected) return undefined;
    const gone = this.#gone.then(() => undefined);
    const over = Promise.race([this.#endpoint.execute(name, argument), gone]);
    const stop = () => void this.#break(over);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      return await over;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /**
   * Ends the one that runs, or is about to: FreeSWITCH begins it up to 20 ms after it was told to and has forgotten by then
   * that it was to end, so it is told again. (`all` would take it from the queue, and it would never be over.)
   */
  async #break(over: Promise<unknown>): Promise<void> {
    let running = true;
    const ended = over.catch(() => undefined).then(() => (running = false)); // who runs it hears how it failed
    this.#ending.add(ended);
    while (running) {
      void this.#endpoint
        .api('uuid_break', this.#endpoint.uuid)
        .catch((error: unknown) =>
          this.#log.debug({ uuid: this.#endpoint.uuid, error: String(error) }, 'nothing to break'),
        );
      await Promise.race([ended, pause(BREAK_AGAIN_MS)]);
    }
    this.#ending.delete(ended);
  }
}

import type { Log } from '#process/log';

const HOUR_MS = 3_600_000;

/**
 * Work in the background that nobody waits for: done soon after somebody says that there may be some, and every hour
 * (or `everyMs`), for what a crash or a server that was away left behind.
 */
export class Sweep {
  readonly #work: () => Promise<void>;
  readonly #failure: string;
  readonly #log: Log;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #asked = false;

  /** `failure`: what the log says when the work rejects. */
  constructor(work: () => Promise<void>, failure: string, log: Log, everyMs = HOUR_MS) {
    [this.#work, this.#failure, this.#log, this.#everyMs] = [work, failure, log, everyMs];
  }

  /** Does the work now and every time the interval is over. */
  start(): void {
    this.sweep();
    this.#timer = setInterval(() => this.sweep(), this.#everyMs).unref();
  }

  /** Looks no more, and waits for what is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Looks for work, after any look that is under way; one that has not begun yet is as good. */
  sweep(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#running = this.#running
      .then(() => {
        this.#asked = false;
        return this.#work();
      })
      // The next look tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => this.#log.warn({ err: error }, this.#failure));
  }
}

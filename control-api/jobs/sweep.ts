import type { Logger } from 'pino';

const HOUR_MS = 3_600_000;

/**
 * Work in the background that nobody waits for: done soon after somebody says that there may be some, and every hour,
 * for what a crash or a server that was away left behind.
 */
export class Sweep {
  readonly #work: () => Promise<void>;
  readonly #failure: string;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  /** `failure`: what the log says when the work rejects. */
  constructor(work: () => Promise<void>, failure: string, log: Logger) {
    [this.#work, this.#failure, this.#log] = [work, failure, log];
  }

  start(): void {
    this.sweep();
    this.#timer = setInterval(() => this.sweep(), HOUR_MS).unref();
  }

  /** Looks no more, and waits for what is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Looks for work, after any look that is under way. */
  sweep(): void {
    this.#running = this.#running
      .then(() => this.#work())
      // The next hour tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => this.#log.warn({ err: error }, this.#failure));
  }
}

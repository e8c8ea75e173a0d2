import type { Log } from '#process/log';

/**
 * Everything that happens to one call, one at a time and in order: SIP messages, event-socket events, commands, timers.
 * A letter may wait for others (a commit, an answer), so nothing that lasts as long as a flow action goes in here.
 */
export class Mailbox {
  #last: Promise<unknown> = Promise.resolve();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Runs `letter` after all earlier ones; settles as it does. */
  post<T>(letter: () => Promise<T> | T): Promise<T> {
    const run = this.#last.then(letter);
    this.#last = run.catch(() => undefined); // the sender hears of it; the next letter must not
    return run;
  }

  /** Like `post` for senders that have nobody to tell: a failure is logged. */
  drop(what: string, letter: () => Promise<unknown>): void {
    this.post(letter).catch((error: unknown) => this.#log.error({ what, error: String(error) }, 'a letter failed'));
  }

  /** Resolves when everything posted so far is done. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

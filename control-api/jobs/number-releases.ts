import type { Logger } from 'pino';
import type { Carrier } from '../carriers/carrier.ts';
import type { Db } from '../db.ts';

const HOUR_MS = 3_600_000;
const BATCH = 100;

interface Row {
  id: string;
  number: string;
  carrier: string;
  carrier_reference: string;
}

/**
 * Gives deleted numbers back to their carrier, in the background: soon after a deletion, and every hour those that a
 * crash or a carrier that was away left behind (accounts-and-plumbing 15.2).
 */
export class NumberReleases {
  readonly #db: Db;
  readonly #carrier: Carrier;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweep: Promise<void> = Promise.resolve();

  constructor(db: Db, carrier: Carrier, log: Logger) {
    this.#db = db;
    this.#carrier = carrier;
    this.#log = log;
  }

  start(): void {
    this.sweep();
    this.#timer = setInterval(() => this.sweep(), HOUR_MS).unref();
  }

  /** Stops looking and waits for what is being given back. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweep;
  }

  /** Looks for numbers to give back, after any look that is on its way. Nobody waits for it. */
  sweep(): void {
    this.#sweep = this.#sweep
      .then(() => this.#releaseSome())
      // The next hour tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => this.#log.warn({ err: error }, 'deleted numbers not given back'));
  }

  /** A carrier that is away ends the look. */
  async #releaseSome(): Promise<void> {
    const rows = await this.#db<Row>('numbers')
      .whereNotNull('tm_delete')
      .where('carrier', this.#carrier.name)
      .where('carrier', '<>', '')
      .limit(BATCH)
      .select('id', 'number', 'carrier_reference');
    for (const { id, number, carrier_reference } of rows as Row[]) {
      await this.#carrier.release(number, carrier_reference);
      await this.#db('numbers').where({ id }).update({ carrier: '' });
      this.#log.info({ number_id: id }, 'a deleted number was given back to the carrier');
    }
  }
}

import type { Log } from '#process/log';
import { fromDate, timestamp } from '#contract/time';
import type { Db } from '../db.ts';
import type { Mail, Send } from '../mail/transport.ts';

const POLL_MS = 5000;
/** Whoever took a letter and died: another takes it after so long. */
const LEASE_MS = 5 * 60_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** A letter older than this is no good to anybody; it stays in the table with its error. */
const GIVE_UP_MS = 3 * 24 * 3_600_000;

interface Row extends Mail {
  attempts: number;
  customer_id: string;
}

const TAKE = `
  update mails set attempts = attempts + 1, tm_next = :lease
  where id = (select id from mails where tm_next <= :now order by tm_next limit 1 for update skip locked)
  returning id, customer_id, kind, recipient, subject, body, attempts, tm_create`;

/** Nobody of that name: it will be no other tomorrow (RFC 5321 section 4.2.1). Any other refusal an operator may repair. */
const isUnknown = (error: unknown): boolean => {
  const { command, responseCode } = error as { command?: string; responseCode?: number };
  return command === 'RCPT TO' && responseCode !== undefined && responseCode >= 500;
};

const inMs = (milliseconds: number): string => fromDate(new Date(Date.now() + milliseconds));

const pauseMs = (attempts: number): number => Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);

/** Sends posted letters one after the other, failed ones again with growing pauses. Nobody waits for it. */
export class MailDelivery {
  readonly #db: Db;
  readonly #send: Send;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(db: Db, send: Send, log: Log) {
    [this.#db, this.#send, this.#log] = [db, send, log];
  }

  /** Sends what waits, now and from time to time. */
  start(): void {
    this.wake();
    this.#timer = setInterval(() => this.wake(), POLL_MS).unref();
  }

  /** Stops looking and waits for the letter that is being sent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  /** Something was posted, or may have been. */
  wake(): void {
    this.#again = true;
    this.#round ??= this.#sendAll()
      // The next look tries again; what was posted lies in the table meanwhile.
      .catch((error: unknown) => this.#log.warn({ err: error }, 'letters cannot be looked at'))
      .finally(() => (this.#round = undefined));
  }

  async #sendAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      while (!this.#stopped && (await this.#sendOne()));
    }
  }

  /** Sends the letter that is due longest; false when none is. */
  async #sendOne(): Promise<boolean> {
    const taken = await this.#db.raw<{ rows: Row[] }>(TAKE, { now: timestamp(), lease: inMs(LEASE_MS) });
    const mail = taken.rows[0];
    if (!mail) return false;
    try {
      await this.#send(mail);
    } catch (error) {
      await this.#failed(mail, error);
      return true;
    }
    // What it said was for its reader only; a link in it is a key.
    await this.#settle(mail.id, { tm_sent: timestamp(), tm_next: null, body: '', error: '' });
    this.#log.info({ mail_id: mail.id, kind: mail.kind, customer_id: mail.customer_id }, 'letter sent');
    return true;
  }

  async #failed({ id, kind, customer_id, attempts, tm_create }: Row, error: unknown): Promise<void> {
    const text = error instanceof Error ? error.message : String(error);
    const over = tm_create < inMs(-GIVE_UP_MS) || isUnknown(error);
    const said = { mail_id: id, kind, customer_id, attempts, err: error };
    if (over) this.#log.error(said, 'letter given up');
    else this.#log.warn(said, 'letter not sent; it is tried again');
    await this.#settle(id, { error: text.slice(0, 1000), tm_next: over ? null : inMs(pauseMs(attempts)) });
  }

  async #settle(id: string, values: Record<string, unknown>): Promise<void> {
    await this.#db('mails').where({ id }).update(values);
  }
}

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { PlatformError, REASONS, type Reason } from '#contract/errors';
import type { Db } from '../db.ts';
import { Reply } from './route.ts';

/** A request that must act once, however often it comes. */
export interface KeyedRequest {
  customer_id: string;
  /** The path as asked: a key is good for one customer and one path. */
  path: string;
  key: string;
  /** The query without credentials, and the body. */
  content: (string | Buffer)[];
}

/** Who handles a request has it for so long; whoever died over it loses it then. More than a command may take. */
const LEASE_S = 15;
/** A second request waits so long for the answer of the first, in milliseconds, and tries itself when the lease is over. */
const PATIENCE_MS = 16_000;
const LOOK_MS = 50;

type Outcome =
  | { body: unknown; headers: Record<string, string> }
  | { reason: Reason; message: string; details: Record<string, unknown>[] };

interface Row {
  mine: boolean;
  fingerprint: Buffer;
  status: number | null;
  answer: Buffer | null;
  tm_create: string;
}

const digest = (...parts: (string | Buffer)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest();
};

/** The key of a header `Idempotency-Key`, or undefined when there is none. Throws INVALID_ARGUMENT. */
export const idempotencyKey = (header: string | string[] | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const key = (typeof header === 'string' ? header : header.join(',')).trim();
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new PlatformError('INVALID_ARGUMENT', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
};

/** Gives ids that are the same at every try of a request, so that what it makes and orders is not made twice. */
export type IdOf = (what: string) => string;

/** A key of another day is another request. */
const idsOf =
  ({ customer_id, path, key }: KeyedRequest, day: string): IdOf =>
  what => {
    const hex = digest(customer_id, path, key, day, what).toString('hex');
    // RFC 9562 section 5.8: a UUID of our own making.
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };

/**
 * Claims a key: a new one, one whose day is over, or one that nobody answered and nobody holds. Otherwise the row comes
 * back as it is.
 */
const CLAIM = `
  with claimed as (
    insert into idempotency_keys as k (customer_id, path, key_hash, fingerprint, leased_until)
    values (:customer_id, :path, :key_hash, :fingerprint, now() + interval '${LEASE_S} seconds')
    on conflict (customer_id, path, key_hash) do update set leased_until = excluded.leased_until,
      fingerprint = excluded.fingerprint, status = null, answer = null,
      tm_create = case when k.tm_create < now() - interval '1 day' then now() else k.tm_create end
    where k.tm_create < now() - interval '1 day'
      or (k.status is null and k.leased_until < now() and k.fingerprint = excluded.fingerprint)
    returning true as mine, fingerprint, status, answer, tm_create
  )
  select * from claimed union all
  select false, fingerprint, status, answer, tm_create from idempotency_keys
  where customer_id = :customer_id and path = :path and key_hash = :key_hash and not exists (select 1 from claimed)`;

/**
 * Requests with an Idempotency-Key: the first is handled and its answer kept for a day in Postgres, sealed with a key
 * that only the client has. One that comes meanwhile waits for that answer. An answer of 5xx is not kept, because the
 * request may be tried again; what it made or ordered has derived ids, so trying again makes nothing twice.
 */
export class Idempotency {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /**
   * The reply of `work`, or of an earlier request with this key. Rejects IDEMPOTENCY_KEY_REUSED when that one asked for
   * something else, IDEMPOTENCY_KEY_IN_USE when it is still not answered, and what `work` rejected.
   */
  async once(request: KeyedRequest, work: (idOf: IdOf) => Promise<Reply>): Promise<Reply> {
    const fingerprint = digest(...request.content);
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const row = await this.#claim(request, fingerprint);
      if (row?.mine) return this.#handle(request, () => work(idsOf(request, row.tm_create)));
      if (row && !row.fingerprint.equals(fingerprint))
        throw new PlatformError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was sent with another request.');
      if (row?.status && row.answer) return this.#replay(row.status, unseal(request, row.answer));
      if (Date.now() > until)
        throw new PlatformError('IDEMPOTENCY_KEY_IN_USE', 'The first request with this Idempotency-Key still runs.');
      await wait(LOOK_MS);
    }
  }

  async #claim(request: KeyedRequest, fingerprint: Buffer): Promise<Row | undefined> {
    const { rows } = await this.#db.raw<{ rows: Row[] }>(CLAIM, { ...this.#place(request), fingerprint });
    return rows[0];
  }

  #place({ customer_id, path, key }: KeyedRequest) {
    return { customer_id, path, key_hash: digest(key) };
  }

  async #handle(request: KeyedRequest, work: () => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await work();
      await this.#keep(request, reply.status, { body: reply.body, headers: reply.headers });
      return reply;
    } catch (error) {
      if (error instanceof PlatformError && isFinal(error)) {
        const { reason, message, details } = error;
        await this.#keep(request, error.httpStatus, { reason, message, details });
      } else await this.#release(request);
      throw error;
    }
  }

  async #keep(request: KeyedRequest, status: number, outcome: Outcome): Promise<void> {
    const answer = seal(request, outcome);
    await this.#db('idempotency_keys').where(this.#place(request)).update({ status, answer });
  }

  /** Lets the next request with this key try again at once. */
  async #release(request: KeyedRequest): Promise<void> {
    const open = this.#db('idempotency_keys').where(this.#place(request)).whereNull('status');
    // The lease runs out all the same; the failure to tell is the handler's.
    await open.update({ leased_until: this.#db.raw("now() - interval '1 second'") }).catch(() => undefined);
  }

  #replay(status: number, outcome: Outcome): Reply {
    if (!('reason' in outcome))
      return new Reply(status, outcome.body, { ...outcome.headers, 'Idempotent-Replayed': 'true' });
    throw new PlatformError(outcome.reason in REASONS ? outcome.reason : 'INTERNAL', outcome.message, outcome.details);
  }
}

/** What is our trouble, or only too early, may be tried again. */
const isFinal = ({ httpStatus }: PlatformError): boolean => httpStatus < 500 && httpStatus !== 429;

/** Removes keys whose day is over. Returns how many. */
export const removeOldKeys = (db: Db): Promise<number> =>
  db('idempotency_keys').whereRaw("tm_create < now() - interval '1 day'").delete();

const ALGORITHM = 'aes-256-gcm';
const [NONCE_BYTES, TAG_BYTES] = [12, 16];

/** Answers may hold secrets that are stored nowhere else (a new accesskey's token), so whoever reads the table learns none. */
const sealingKey = ({ customer_id, path, key }: KeyedRequest): Buffer =>
  Buffer.from(hkdfSync('sha256', key, `${customer_id} ${path}`, 'answer', 32));

const seal = (request: KeyedRequest, outcome: Outcome): Buffer => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, sealingKey(request), nonce);
  const text = Buffer.concat([cipher.update(JSON.stringify(outcome)), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
};

const unseal = (request: KeyedRequest, sealed: Buffer): Outcome => {
  const decipher = createDecipheriv(ALGORITHM, sealingKey(request), sealed.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(text.toString()) as Outcome;
};

import { createHmac, timingSafeEqual } from 'node:crypto';
import { fromDate, type Timestamp } from '#contract/time';

/** How long a link to a file works. */
const LIFETIME_MS = 3_600_000;

/** A link to one file, good for everybody who has it until it expires. */
export interface Link {
  uri: string;
  tm_expire: Timestamp;
}

/**
 * Links to files below DATA_DIR that need no credential: what they name and when they expire is signed (HMAC-SHA-256),
 * so neither can be changed.
 */
export class Downloads {
  /** The folder that linked names lie below. */
  readonly folder: string;
  readonly #secret: string;
  readonly #publicUrl: string;

  constructor(given: { secret: string; publicUrl: string; folder: string }) {
    this.folder = given.folder;
    this.#secret = given.secret;
    this.#publicUrl = given.publicUrl;
  }

  /** A fresh link to `<room>/<filename>`. */
  link(room: string, filename: string, now = Date.now()): Link {
    const expires = Math.floor((now + LIFETIME_MS) / 1000);
    const path = `/downloads/${room}/${encodeURIComponent(filename)}`;
    const query = `expires=${expires}&signature=${this.#sign(room, filename, expires)}`;
    return { uri: `${this.#publicUrl}${path}?${query}`, tm_expire: fromDate(new Date(expires * 1000)) };
  }

  /** True when we made this link and it has not expired. Compares in constant time. */
  isGood(room: string, filename: string, query: { expires: unknown; signature: unknown }, now = Date.now()): boolean {
    const { expires, signature } = query;
    if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires) || typeof signature !== 'string') return false;
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.#sign(room, filename, Number(expires)));
    return given.length === expected.length && timingSafeEqual(given, expected) && now < Number(expires) * 1000;
  }

  #sign(room: string, filename: string, expires: number): string {
    return createHmac('sha256', this.#secret).update(`${room}/${filename}\n${expires}`).digest('hex');
  }
}

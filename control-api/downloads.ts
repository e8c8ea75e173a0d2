import { createHmac, timingSafeEqual } from 'node:crypto';
import { fromDate, type Timestamp } from '#contract/time';

/** How long a link to a file works when nobody says. */
const LIFETIME_MS = 3_600_000;

/** The folder below DATA_DIR that stored files lie in, each named by its id. */
export const FILES_ROOM = 'files';

/** A link to one file, good for everybody who has it until it expires. */
export interface Link {
  uri: string;
  tm_expire: Timestamp;
}

/** How a link is made. */
export interface LinkOptions {
  /** The name that the file is saved under; by default its own. */
  save_as?: string;
  lifetime_ms?: number;
  now?: number;
}

/** The query of a link, as it came. */
export interface LinkQuery {
  expires: unknown;
  signature: unknown;
  save_as?: unknown;
}

/**
 * Links to files below DATA_DIR that need no credential: what they name, under which name it is saved and when they
 * expire is signed (HMAC-SHA-256), so none of it can be changed.
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
  link(room: string, filename: string, options: LinkOptions = {}): Link {
    const { save_as = '', lifetime_ms = LIFETIME_MS, now = Date.now() } = options;
    const expires = Math.floor((now + lifetime_ms) / 1000);
    const query = new URLSearchParams({
      expires: `${expires}`,
      signature: this.#sign(room, filename, expires, save_as),
      ...(save_as === '' ? {} : { save_as }),
    });
    const uri = `${this.#publicUrl}/downloads/${room}/${encodeURIComponent(filename)}?${query.toString()}`;
    return { uri, tm_expire: fromDate(new Date(expires * 1000)) };
  }

  /** True when we made this link and it has not expired. Compares in constant time. */
  isGood(room: string, filename: string, query: LinkQuery, now = Date.now()): boolean {
    const { expires, signature, save_as = '' } = query;
    if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires)) return false;
    if (typeof signature !== 'string' || typeof save_as !== 'string') return false;
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.#sign(room, filename, Number(expires), save_as));
    return given.length === expected.length && timingSafeEqual(given, expected) && now < Number(expires) * 1000;
  }

  #sign(room: string, filename: string, expires: number, save_as: string): string {
    return createHmac('sha256', this.#secret).update(`${room}/${filename}\n${expires}\n${save_as}`).digest('hex');
  }
}

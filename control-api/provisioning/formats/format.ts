import type { Line } from '../line.ts';

/** A kind of settings file, as data. */
export interface Format {
  /** What `?format=` calls it. */
  name: string;
  /** User-Agent of the phones that read it. */
  agent?: RegExp;
  /** Names under which these phones ask for their file. */
  file?: RegExp;
  media_type: string;
  /** Writes the file. Every value is escaped as the format asks. */
  write(line: Line): string;
}

/** How long registrations of provisioned phones last, in seconds (accounts-and-plumbing 18.2). */
export const EXPIRES_S = 3600;

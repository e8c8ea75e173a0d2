import type { Link } from '../downloads.ts';

/** What of a stored file a link to it needs. */
export interface Kept {
  id: string;
  filename: string;
}

/** Where the bytes of stored files lie. What they are called and whose they are is in Postgres. */
export interface Vault {
  /** Takes over the file at `path`, which is gone or may go afterwards. Again with the same id: it is replaced. */
  put(id: string, path: string): Promise<void>;
  /** Removes what lies under an id, if anything does. */
  remove(id: string): Promise<void>;
  /** A link that needs no credential; it saves the file under its own name. */
  link(file: Kept): Promise<Link>;
}

/** How long a link to a stored file works (accounts-and-plumbing 30.2); S3 signs for no longer either. */
export const FILE_LINK_MS = 7 * 86_400_000;

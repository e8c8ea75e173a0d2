import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { StartError } from './config.ts';
import { isSameProcess, markOf, type ProcessMark } from './processes.ts';

const holderOf = (file: string): ProcessMark | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessMark;
  } catch {
    return undefined; // no lock, or an unreadable one of a crashed start
  }
};

/**
 * Takes the data folder for this process. Throws a StartError that names the holder when another start has it; a lock
 * whose holder is dead is taken over. Returns the function that gives it back.
 */
export const lockDataDir = (dataDir: string): (() => void) => {
  const file = join(dataDir, 'start.lock');
  const own = `${file}.${process.pid}`;
  writeOwn(dataDir, own);
  try {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      if (tryLink(own, file)) return () => rmSync(file, { force: true });
      const holder = holderOf(file);
      if (holder && isSameProcess(holder)) throw heldBy(holder, dataDir);
      moveAside(file, `${own}.stale`);
    }
  } finally {
    rmSync(own, { force: true });
    rmSync(`${own}.stale`, { force: true });
  }
  throw new StartError(
    `The data folder ${resolve(dataDir)} could not be locked: another start is taking it at this moment.`,
  );
};

const writeOwn = (dataDir: string, own: string): void => {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    writeFileSync(own, JSON.stringify(markOf(process.pid)), { mode: 0o600 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EACCES' || code === 'EPERM' ? `belongs to another user than ${userInfo().username}` : message;
    throw new StartError(
      `The data folder ${resolve(dataDir)} cannot be written (${why}): change its owner, or choose another with DATA_DIR.`,
    );
  }
};

const heldBy = (holder: ProcessMark, dataDir: string): StartError =>
  new StartError(
    `Trunkline already runs on the data folder ${resolve(dataDir)} (process ${holder.pid}): stop it with Ctrl-C or kill ${holder.pid}, or set DATA_DIR, HTTP_PORT, SIP_PORT and RTP_PORTS for a second copy.`,
  );

/** A hard link is the one step that succeeds for exactly one of two starts. */
const tryLink = (own: string, file: string): boolean => {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

const moveAside = (file: string, aside: string): void => {
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
};

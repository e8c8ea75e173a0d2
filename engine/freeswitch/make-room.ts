import type { Stats } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** How much a folder may hold. */
export interface Room {
  files: number;
  bytes: number;
}

/** What is fetched or spoken is kept in one folder. */
const most: Room = { files: 500, bytes: 1024 * 1024 * 1024 };

/** Deletes the oldest files of a folder until the others fit. What is gone already is left alone. */
export async function makeRoom(folder: string, room = most): Promise<void> {
  const names = await readdir(folder);
  const found = await Promise.all(names.map(async name => ({ name, facts: await factsOf(join(folder, name)) })));
  const newestFirst = found
    .flatMap(({ name, facts }) => (facts?.isFile() ? [{ name, ...facts }] : []))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  let bytes = 0;
  const tooMuch = newestFirst.filter(({ size }, index) => (bytes += size) > room.bytes || index >= room.files);
  await Promise.all(tooMuch.map(({ name }) => rm(join(folder, name), { force: true })));
}

function factsOf(path: string): Promise<Stats | null> {
  return stat(path).catch(() => null); // removed meanwhile
}

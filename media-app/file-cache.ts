import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { access, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/** An unfinished file of this age was left by a process that died, in milliseconds. */
const ABANDONED_MS = 600_000;

const NAME = /^[0-9a-f]{64}\.[a-z0-9]{2,4}$/;

const PART = '.part.wav';

/** A name for a file that does not exist yet, to be made and then kept. */
export const freshFile = (dir: string): string => path.join(dir, `${randomUUID()}${PART}`);

/** Files of sound by the hash of what they are made of, the least recently used of them deleted when they grow too large. */
export class FileCache {
  readonly dir: string;
  readonly #maxBytes: number;
  /** Name to size, least recently used first. */
  readonly #sizes = new Map<string, number>();
  #total = 0;
  #ready: Promise<void> | undefined;

  constructor(dir: string, maxBytes: number) {
    this.dir = path.resolve(dir);
    this.#maxBytes = maxBytes;
    mkdirSync(this.dir, { recursive: true });
  }

  /** The name under which what is made of these parts is kept. */
  nameOf(parts: readonly (string | number)[], extension = '.wav'): string {
    const hash = createHash('sha256').update(JSON.stringify(parts));
    return `${hash.digest('hex')}${extension}`;
  }

  /** The absolute path of a kept file, or undefined. */
  async find(name: string): Promise<string | undefined> {
    await this.#scanned();
    const file = path.join(this.dir, name);
    try {
      await access(file);
    } catch {
      return undefined; // never made, or deleted behind our back
    }
    this.#touch(name, this.#sizes.get(name) ?? (await stat(file)).size);
    return file;
  }

  /** Takes over a finished file under a name, in one step, so that no reader sees half of it. */
  async keep(made: string, name: string): Promise<string> {
    await this.#scanned();
    const file = path.join(this.dir, name);
    const { size } = await stat(made);
    await rename(made, file);
    this.#touch(name, size);
    await this.#evict(name);
    return file;
  }

  #touch(name: string, size: number): void {
    this.#total += size - (this.#sizes.get(name) ?? 0);
    this.#sizes.delete(name);
    this.#sizes.set(name, size);
  }

  async #evict(kept: string): Promise<void> {
    for (const [name, size] of this.#sizes) {
      if (this.#total <= this.#maxBytes) return;
      if (name === kept) continue;
      this.#sizes.delete(name);
      this.#total -= size;
      await rm(path.join(this.dir, name), { force: true });
    }
  }

  #scanned(): Promise<void> {
    this.#ready ??= this.#scan();
    return this.#ready;
  }

  /** Learns what an earlier process left, and removes what it did not finish. */
  async #scan(): Promise<void> {
    const found: { name: string; size: number; used: number }[] = [];
    for (const name of await readdir(this.dir)) {
      const file = path.join(this.dir, name);
      const state = await stat(file).catch(() => undefined); // gone since it was listed
      if (!state) continue;
      const { size, mtimeMs } = state;
      if (NAME.test(name)) found.push({ name, size, used: mtimeMs });
      else if (name.endsWith(PART) && mtimeMs < Date.now() - ABANDONED_MS) await rm(file, { force: true });
    }
    for (const { name, size } of found.sort((a, b) => a.used - b.used)) this.#touch(name, size);
  }
}

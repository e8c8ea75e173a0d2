import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const maxBytes = 64 * 1024 * 1024;
const maxAgeMs = 86_400_000;
const rates = [8, 16, 24, 32, 48, 64];
const swept = new Set<string>();

/** The temporary files of `playAudio`: kept while their fork lives, the oldest given up beyond 64 MB. */
export class PlayFiles {
  readonly #directory: string;
  #files: { path: string; bytes: number }[] = [];
  #closed = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Stores decoded audio under a name that tells playback its kind, and gives the path.
   * @throws Error when the disk does not take it
   */
  async store(name: string, audio: Buffer): Promise<string> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await sweep(this.#directory);
    const path = join(this.#directory, name);
    this.#files.push({ path, bytes: audio.length });
    await writeFile(path, audio, { mode: 0o600 });
    if (this.#closed) await rm(path, { force: true });
    else await this.#makeRoom();
    return path;
  }

  /** Deletes them all. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#files.splice(0).map(({ path }) => rm(path, { force: true })));
  }

  async #makeRoom(): Promise<void> {
    let bytes = this.#files.reduce((sum, one) => sum + one.bytes, 0);
    while (bytes > maxBytes && this.#files.length > 1) {
      const oldest = this.#files.shift();
      bytes -= oldest?.bytes ?? 0;
      if (oldest) await rm(oldest.path, { force: true });
    }
  }
}

/** Deletes what a process that crashed has left behind, once: files older than a day. */
async function sweep(directory: string): Promise<void> {
  if (swept.has(directory)) return;
  swept.add(directory);
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const facts = await stat(path).catch(() => null); // gone meanwhile: all the better
    if (facts?.isFile() && Date.now() - facts.mtimeMs > maxAgeMs) await rm(path, { force: true });
  }
}

/** The end of a file's name for a content type and rate; null for a type that cannot be played. */
export function extensionFor(type: unknown, rate: unknown): string | null {
  if (type === 'wave' || type === 'wav') return '.tmp.wav';
  if (type !== 'raw') return null;
  const thousands = Number(rate) / 1000;
  return `.tmp.r${rates.includes(thousands) ? thousands : 16}`;
}

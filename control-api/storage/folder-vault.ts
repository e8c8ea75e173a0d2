import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FILES_ROOM, type Downloads, type Link } from '../downloads.ts';
import { FILE_LINK_MS, type Kept, type Vault } from './vault.ts';

/** A name is only there for good when its folder is written through too. */
const writeThrough = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Stored files in `DATA_DIR/files`, each named by its id, served by our own signed links. */
export class FolderVault implements Vault {
  readonly #folder: string;
  readonly #downloads: Downloads;

  constructor(downloads: Downloads) {
    this.#folder = join(downloads.folder, FILES_ROOM);
    this.#downloads = downloads;
  }

  async put(id: string, path: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await rename(path, join(this.#folder, id));
    await writeThrough(this.#folder);
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#folder, id), { force: true });
  }

  async link({ id, filename }: Kept): Promise<Link> {
    return this.#downloads.link(FILES_ROOM, id, { save_as: filename, lifetime_ms: FILE_LINK_MS });
  }
}

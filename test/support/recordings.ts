import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Recording } from '#contract/recording';
import { parseWav } from '../../scripts/phone/wav.ts';
import { eventually } from './eventually.ts';
import type { Stack } from './stack.ts';

/** A file of a recording as the API lists it. */
interface Playfile {
  filename: string;
  direction: string;
  uri_download: string;
  filesize: number;
  duration: number;
  peaks: number[];
}

/** The recordings of a stack, as its API and its folder tell of them. */
export class Recordings {
  readonly #stack: Stack;

  constructor(stack: Stack) {
    this.#stack = stack;
  }

  async see(id: string): Promise<Recording> {
    return (await this.#stack.api<Recording>('GET', `/recordings/${id}`)).body;
  }

  /** The recording once it has ended. */
  ended(id: string, withinMs = 8000): Promise<Recording> {
    return eventually(
      `the end of recording ${id}`,
      () => this.see(id),
      one => one.status === 'ended',
      withinMs,
    );
  }

  async files(id: string): Promise<Playfile[]> {
    return (await this.#stack.api<Playfile[]>('GET', `/recordings/${id}/playfiles`)).body;
  }

  /** Names of the files that media-app's folder has of a call or conference. */
  stored(id: string): string[] {
    return readdirSync(join(this.#stack.dataDir, 'recordings')).filter(name => name.includes(id));
  }
}

/** The samples behind a link, at 8 kHz. */
export const download = async (uri: string): Promise<Int16Array> => {
  const response = await fetch(uri);
  assert.equal(response.status, 200);
  return parseWav(Buffer.from(await response.arrayBuffer()));
};

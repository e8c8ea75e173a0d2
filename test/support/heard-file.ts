import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Hearing } from '../../scripts/phone/hearing.ts';
import { everyTwentyMs } from '../../scripts/phone/pace.ts';
import { SAMPLE_RATE } from '../../scripts/phone/wav.ts';
import { Ear } from './ear.ts';

const HEADER_BYTES = 44;
const RATE_AT = 24;
/** What becomes one sample at 8 kHz has 12 bytes at 48 kHz, and as many or a part of them at 8, 16 and 24 kHz. */
const FRAME = 12;

/** An ear at the files of 16-bit mono WAV that a program is writing: what it appends is what is heard now. */
export class HeardFile {
  readonly ear: Ear;
  readonly #hearing = new Hearing();
  readonly #folder: string;
  readonly #names: RegExp;
  readonly #leave: () => void;
  #name: string | undefined;
  #file: number | undefined;
  #at = HEADER_BYTES;
  #stream = 0;
  #samples = 0;

  /** @param names the files of the folder; when another one comes, that one is listened to */
  constructor(folder: string, names: RegExp, name: string) {
    this.#folder = folder;
    this.#names = names;
    this.ear = new Ear(this.#hearing, name);
    this.#leave = everyTwentyMs(() => this.#listen());
  }

  close(): void {
    this.#leave();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #listen(): void {
    this.#open();
    if (this.#file === undefined) return;
    const size = fstatSync(this.#file).size;
    if (size < this.#at) this.#begin(); // written anew: a second call of the same second
    const count = size - this.#at - ((size - this.#at) % FRAME);
    if (count <= 0) return;
    const bytes = Buffer.alloc(count);
    readSync(this.#file, bytes, 0, count, this.#at);
    this.#at += count;
    const heard = eightThousand(bytes, this.#rate());
    this.#hearing.add(heard, this.#stream, this.#samples, performance.now());
    this.#samples += heard.length;
  }

  /** Goes over to the newest file: the last by name. */
  #open(): void {
    const newest = readdirSync(this.#folder)
      .filter(name => this.#names.test(name))
      .sort()
      .at(-1);
    if (newest === undefined || newest === this.#name) return;
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = openSync(join(this.#folder, newest), 'r');
    this.#name = newest;
    this.#begin();
  }

  #begin(): void {
    [this.#at, this.#samples] = [HEADER_BYTES, 0];
    this.#stream += 1;
  }

  #rate(): number {
    const bytes = Buffer.alloc(4);
    if (this.#file !== undefined) readSync(this.#file, bytes, 0, 4, RATE_AT);
    return bytes.readUInt32LE(0) || SAMPLE_RATE;
  }
}

/** The mean of the samples that fall into one at 8 kHz. */
const eightThousand = (bytes: Buffer, rate: number): Int16Array => {
  const step = Math.max(1, Math.round(rate / SAMPLE_RATE));
  return Int16Array.from({ length: Math.floor(bytes.length / 2 / step) }, (_, at) => {
    let sum = 0;
    for (let i = at * step; i < (at + 1) * step; i += 1) sum += bytes.readInt16LE(i * 2);
    return Math.round(sum / step);
  });
};

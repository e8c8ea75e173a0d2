import { access, mkdir, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { randomBytes } from 'node:crypto';
import { monoHeader } from '../recording/wav.ts';

const RATE = 8000;
const NOTE_MS = 400;

/** Eight bars of our own, in C: a held low note each, and the broken chord above it (MIDI note numbers). */
const BARS: { low: number; chord: number[] }[] = [
  { low: 60, chord: [64, 67, 71, 76, 74, 71, 67, 64] },
  { low: 57, chord: [64, 67, 72, 76, 72, 67, 64, 60] },
  { low: 65, chord: [69, 72, 76, 79, 76, 72, 69, 72] },
  { low: 55, chord: [62, 67, 71, 74, 71, 67, 69, 71] },
  { low: 60, chord: [67, 72, 76, 79, 83, 79, 76, 72] },
  { low: 64, chord: [67, 71, 74, 79, 74, 71, 67, 71] },
  { low: 65, chord: [69, 72, 77, 81, 77, 72, 69, 65] },
  { low: 55, chord: [65, 69, 71, 74, 77, 74, 71, 67] },
];

const hertz = (note: number): number => 440 * 2 ** ((note - 69) / 12);

/** Adds one soft bell at a place of the loop; what rings beyond its end rings on at its beginning, so it has no seam. */
const strike = (loop: Float64Array, at: number, note: number, loudness: number, ringMs: number): void => {
  const length = Math.round((ringMs * RATE) / 1000);
  const step = (2 * Math.PI * hertz(note)) / RATE;
  for (let age = 0; age < length; age += 1) {
    const swell = Math.min(1, age / 160) * Math.min(1, (length - age) / 800);
    const fade = Math.exp((-3 * age) / length);
    const wave = Math.sin(step * age) + 0.2 * Math.sin(2 * step * age) * fade;
    const index = (at + age) % loop.length;
    loop[index] = (loop[index] ?? 0) + loudness * swell * fade * wave;
  }
};

/** The melody as samples, 8 kHz, about 26 s. */
const compose = (): Float64Array => {
  const note = (NOTE_MS * RATE) / 1000;
  const bar = note * 8;
  const loop = new Float64Array(bar * BARS.length);
  BARS.forEach(({ low, chord }, index) => {
    strike(loop, index * bar, low, 2600, 8 * NOTE_MS);
    chord.forEach((each, place) => strike(loop, index * bar + place * note, each, 1300, 3 * NOTE_MS));
  });
  return loop;
};

/** Music on hold as a WAV file, 16 bit, mono, made to be looped. Of our own making, so it has no licence but ours. */
export const holdMusicWav = (): Buffer => {
  const samples = compose();
  const body = Buffer.alloc(samples.length * 2);
  samples.forEach((sample, index) => body.writeInt16LE(Math.round(sample), index * 2));
  return Buffer.concat([monoHeader(RATE, body.length), body]);
};

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** Where media servers find the music: written into the folder when it is first asked for. */
export const createHoldMusic = (folder: string): (() => Promise<string>) => {
  const file = join(resolve(folder), 'music-on-hold-1.wav');
  const write = async (): Promise<string> => {
    if (await exists(file)) return file;
    await mkdir(resolve(folder), { recursive: true });
    const partial = `${file}.${randomBytes(6).toString('hex')}`;
    await writeFile(partial, holdMusicWav());
    await rename(partial, file); // whole or not at all
    return file;
  };
  return write;
};

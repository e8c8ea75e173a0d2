import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { expand } from '../codecs/g711.ts';
import { transcode } from './ffmpeg.ts';
import { Resampler } from './resample.ts';
import type { SampleReader } from './source.ts';
import { FileNotFoundError } from './source.ts';
import type { PcmLayout } from './wav-format.ts';
import { headerlessLayout, parseWav, sampleBytes } from './wav-format.ts';

const maxFile = 256 * 1024 * 1024;
const cachedFile = 4 * 1024 * 1024;
const cacheBudget = 64 * 1024 * 1024;

/** A file in memory. Its bytes are decoded while they are played, so that a long one costs no more at its start. */
interface Material {
  bytes: Buffer;
  layout: PcmLayout;
}

/** Short files by path and the rate they are read at, the most recently used last: a prompt that everybody hears is read once. */
const cache = new Map<string, { stamp: string; material: Material }>();
let cachedBytes = 0;

/** Long files, for as long as somebody plays them: all who hear one share its bytes. */
const played = new Map<string, { stamp: string; bytes: WeakRef<Buffer>; layout: PcmLayout }>();

/** Files that are being read, by key and stamp. */
const underWay = new Map<string, Promise<Material>>();

/**
 * Opens a file: WAV (PCM of 16 and 8 bits, A-law, µ-law, up to 64 kHz), headerless audio by extension, everything else
 * through ffmpeg. It is read at `rate`, in samples of which `seek` counts. Rejects with FileNotFoundError.
 */
export async function fileReader(path: string, rate: number, seek = 0): Promise<SampleReader> {
  const { bytes, layout } = await load(path, rate);
  return layoutReader(bytes, layout, rate, seek);
}

/** Reads samples that lie in memory as mono of this rate. */
function layoutReader(bytes: Buffer, layout: PcmLayout, rate: number, seek = 0): SampleReader {
  const sampleAt = monoReader(bytes, layout);
  const frames = Math.floor((layout.end - layout.start) / (sampleBytes(layout.encoding) * layout.channels));
  const total = Math.floor((frames * rate) / layout.rate);
  const start = Math.min(total, Math.max(0, Math.floor(seek)));
  const resampler =
    layout.rate === rate
      ? null
      : new Resampler(layout.rate, rate, index => (index < 0 || index >= frames ? 0 : sampleAt(index)));
  let at = start;
  const pull = (out: Int16Array, from: number): number => {
    const count = Math.min(out.length - from, total - at);
    for (let i = 0; i < count; i++) out[from + i] = resampler ? clamp(resampler.at(at + i)) : sampleAt(at + i);
    at += count;
    return count;
  };
  return { pull, length: total - start, start };
}

/** The sample of an index, all channels averaged. */
function monoReader(bytes: Buffer, layout: PcmLayout): (index: number) => number {
  const { channels, start, encoding } = layout;
  const one = sampleReader(bytes, encoding);
  const size = sampleBytes(encoding);
  if (channels === 1) return index => one(start + index * size);
  return index => {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += one(start + (index * channels + channel) * size);
    return Math.round(sum / channels);
  };
}

function sampleReader(bytes: Buffer, encoding: PcmLayout['encoding']): (at: number) => number {
  if (encoding === 'pcm16') return at => bytes.readInt16LE(at);
  if (encoding === 'pcm8') return at => (bytes.readUInt8(at) - 128) * 256;
  const codec = encoding === 'alaw' ? 'PCMA' : 'PCMU';
  return at => expand(codec, bytes.readUInt8(at));
}

function clamp(sample: number): number {
  return sample > 32767 ? 32767 : sample < -32768 ? -32768 : sample;
}

async function load(path: string, rate: number): Promise<Material> {
  const facts = await stat(path).catch(() => null); // whatever keeps us from looking, the file is not there for us
  if (!facts?.isFile()) throw new FileNotFoundError(path);
  if (facts.size > maxFile) throw new FileNotFoundError(path, `is larger than ${maxFile} bytes`);
  const stamp = `${facts.mtimeMs} ${facts.size}`;
  const key = `${rate} ${path}`;
  const known = cache.get(key);
  if (known?.stamp === stamp) return touch(key, known);
  const long = played.get(key);
  const bytes = long?.stamp === stamp ? long.bytes.deref() : undefined;
  if (long && bytes) return { bytes, layout: long.layout };
  return underWay.get(`${stamp} ${key}`) ?? readOnce(path, rate, key, stamp);
}

function readOnce(path: string, rate: number, key: string, stamp: string): Promise<Material> {
  const name = `${stamp} ${key}`;
  const reading = read(path, rate)
    .then(material => {
      remember(key, stamp, material);
      return material;
    })
    .finally(() => underWay.delete(name));
  underWay.set(name, reading);
  return reading;
}

async function read(path: string, rate: number): Promise<Material> {
  const extension = extname(path).toLowerCase();
  const bytes = await readFile(path).catch((error: Error) => {
    throw new FileNotFoundError(path, error.message);
  });
  const layout = parseWav(bytes) ?? headerlessLayout(extension, bytes.length);
  if (layout) return { bytes, layout };
  const pcm = await transcode(path, extension, rate);
  return {
    bytes: pcm,
    layout: { encoding: 'pcm16', rate, channels: 1, start: 0, end: pcm.length - (pcm.length % 2) },
  };
}

function touch(key: string, entry: { stamp: string; material: Material }): Material {
  cache.delete(key);
  cache.set(key, entry);
  return entry.material;
}

function remember(key: string, stamp: string, material: Material): void {
  forget(key);
  if (material.bytes.length > cachedFile) return share(key, stamp, material);
  cache.set(key, { stamp, material });
  cachedBytes += material.bytes.length;
  for (const oldest of cache.keys()) {
    if (cachedBytes <= cacheBudget) break;
    forget(oldest);
  }
}

function share(key: string, stamp: string, { bytes, layout }: Material): void {
  for (const [other, { bytes: others }] of played) if (!others.deref()) played.delete(other);
  played.set(key, { stamp, bytes: new WeakRef(bytes), layout });
}

function forget(key: string): void {
  const entry = cache.get(key);
  if (!entry) return;
  cachedBytes -= entry.material.bytes.length;
  cache.delete(key);
}

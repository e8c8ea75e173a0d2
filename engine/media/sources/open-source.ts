import { isAbsolute, resolve } from 'node:path';
import type { FrameSource } from '../audio-leg.ts';
import { framesPerSecond, sampleRate } from '../clock.ts';
import { listReader } from './list-source.ts';
import { silenceReader } from './silence-source.ts';
import type { SampleReader } from './source.ts';
import { FileNotFoundError, ReaderSource } from './source.ts';
import { toneReader } from './tone-source.ts';
import { fileReader } from './wav-source.ts';

export { FileNotFoundError } from './source.ts';

const maxSpec = 16 * 1024;
const maxElements = 256;

/** Where relative names are looked up, the rate of whoever listens (8000 by default), and how far into the material to begin, at that rate. */
export interface OpenOptions {
  soundsDir: string;
  rate?: number;
  seek?: number;
}

/**
 * Opens what `playback` may be given: a path (absolute or below `soundsDir`, with `@@<samples>` as seek offset),
 * `tone_stream://`, `silence_stream://`, or `file_string://a!b` without gaps; a prefix `{key=value}` is skipped. Rejects with
 * FileNotFoundError.
 */
export async function openSource(spec: string, options: OpenOptions): Promise<FrameSource & { durationMs?: number }> {
  if (spec.length > maxSpec || spec.includes('\0')) throw new FileNotFoundError(spec, 'is no name of a file');
  return new ReaderSource(await openReader(spec, options), options.rate);
}

async function openReader(spec: string, options: OpenOptions): Promise<SampleReader> {
  const { rate = sampleRate, seek = 0 } = options;
  const name = spec.trim().replace(/^(\{[^}]*\})+/, '');
  const [, scheme = '', rest = ''] = /^([a-z_]+):\/\/(.*)$/s.exec(name) ?? [];
  if (scheme === 'tone_stream') return skip(toneReader(rest, rate), seek, rate);
  if (scheme === 'silence_stream') return skip(silenceReader(rest, rate), seek, rate);
  if (scheme === 'file_string') return openList(rest, options);
  if (scheme !== '' && scheme !== 'file') throw new FileNotFoundError(name, 'is of an unknown kind');
  return openFile(scheme === 'file' ? rest : name, options);
}

async function openList(list: string, options: OpenOptions): Promise<SampleReader> {
  const names = list.split('!').filter(one => one !== '');
  if (names.length === 0 || names.length > maxElements) throw new FileNotFoundError(list, 'is no list of files');
  const readers: SampleReader[] = [];
  for (const [index, name] of names.entries())
    readers.push(await openReader(name, index === 0 ? options : { ...options, seek: 0 }));
  return listReader(readers);
}

function openFile(name: string, { soundsDir, rate = sampleRate, seek }: OpenOptions): Promise<SampleReader> {
  const [, path = name, offset] = /^(.*)@@(\d{1,12})$/s.exec(name) ?? [];
  if (path === '') return Promise.reject(new FileNotFoundError(name, 'is no name of a file'));
  return fileReader(isAbsolute(path) ? path : resolve(soundsDir, path), rate, seek ?? Number(offset ?? 0));
}

/** Leaves out the beginning of made-up material; more than a minute of it is not worth the work. */
function skip(reader: SampleReader, seek: number, rate: number): SampleReader {
  const scratch = new Int16Array(rate / framesPerSecond);
  for (let left = Math.min(seek, 60 * rate); left > 0; left -= scratch.length) if (reader.pull(scratch, 0) === 0) break;
  return {
    ...reader,
    length: reader.length === undefined ? undefined : Math.max(0, reader.length - seek),
    start: seek,
  };
}

import { isAbsolute, resolve } from 'node:path';
import type { FrameSource } from '../audio-leg.ts';
import { listReader } from './list-source.ts';
import { silenceReader } from './silence-source.ts';
import type { SampleReader } from './source.ts';
import { FileNotFoundError, ReaderSource } from './source.ts';
import { toneReader } from './tone-source.ts';
import { fileReader } from './wav-source.ts';

export { FileNotFoundError } from './source.ts';

const maxSpec = 16 * 1024;
const maxElements = 256;

/** Where relative names are looked up, and how far into the material to begin (samples at 8 kHz). */
export interface OpenOptions {
  soundsDir: string;
  seek?: number;
}

/**
 * Opens what `playback` may be given: a path (absolute or below `soundsDir`, with `@@<samples>` as seek offset),
 * `tone_stream://`, `silence_stream://`, or `file_string://a!b` without gaps; a prefix `{key=value}` is skipped. Rejects with
 * FileNotFoundError.
 */
export async function openSource(spec: string, options: OpenOptions): Promise<FrameSource & { durationMs?: number }> {
  if (spec.length > maxSpec || spec.includes('\0')) throw new FileNotFoundError(spec, 'is no name of a file');
  return new ReaderSource(await openReader(spec, options));
}

async function openReader(spec: string, options: OpenOptions): Promise<SampleReader> {
  const name = spec.trim().replace(/^(\{[^}]*\})+/, '');
  const [, scheme = '', rest = ''] = /^([a-z_]+):\/\/(.*)$/s.exec(name) ?? [];
  if (scheme === 'tone_stream') return skip(toneReader(rest), options.seek);
  if (scheme === 'silence_stream') return skip(silenceReader(rest), options.seek);
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

function openFile(name: string, options: OpenOptions): Promise<SampleReader> {
  const [, path = name, offset] = /^(.*)@@(\d{1,12})$/s.exec(name) ?? [];
  if (path === '') return Promise.reject(new FileNotFoundError(name, 'is no name of a file'));
  return fileReader(isAbsolute(path) ? path : resolve(options.soundsDir, path), options.seek ?? Number(offset ?? 0));
}

/** Leaves out the beginning of made-up material; more than a minute of it is not worth the work. */
function skip(reader: SampleReader, seek = 0): SampleReader {
  const scratch = new Int16Array(160);
  for (let left = Math.min(seek, 480_000); left > 0; left -= 160) if (reader.pull(scratch, 0) === 0) break;
  return {
    ...reader,
    length: reader.length === undefined ? undefined : Math.max(0, reader.length - seek),
    start: seek,
  };
}

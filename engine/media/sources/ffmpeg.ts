import { spawn } from 'node:child_process';
import { FileNotFoundError } from './source.ts';
import { Turns } from './turns.ts';

const maxPcm = 128 * 1024 * 1024;
const timeoutMs = 20_000;
const turns = new Turns(8);

/** Extension to demuxer: the format is fixed by the name, so that a file cannot pose as a playlist of other files. */
const demuxers: Record<string, string> = {
  '.mp3': 'mp3',
  '.ogg': 'ogg',
  '.oga': 'ogg',
  '.opus': 'ogg',
  '.flac': 'flac',
  '.m4a': 'mov',
  '.mp4': 'mov',
  '.aac': 'aac',
  '.webm': 'matroska',
  '.mkv': 'matroska',
  '.amr': 'amr',
  '.gsm': 'gsm',
  '.g722': 'g722',
  '.aiff': 'aiff',
  '.au': 'au',
  '.wav': 'wav',
};

/**
 * Turns a file into 16-bit PCM of this rate with ffmpeg, within 20 s and 128 MiB, eight files at once. Rejects with FileNotFoundError for an
 * unknown extension, a file ffmpeg cannot read, or a machine without ffmpeg.
 */
export function transcode(path: string, extension: string, rate: number): Promise<Buffer> {
  const demuxer = Object.hasOwn(demuxers, extension) ? demuxers[extension] : undefined;
  if (demuxer === undefined) return Promise.reject(new FileNotFoundError(path, 'is of an unknown format'));
  const input = ['-nostdin', '-v', 'error', '-protocol_whitelist', 'file', '-f', demuxer, '-i', `file:${path}`];
  return turns.take(() =>
    collect(path, [...input, '-map', '0:a:0', '-ac', '1', '-ar', String(rate), '-f', 's16le', 'pipe:1']),
  );
}

function collect(path: string, parameters: string[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('ffmpeg', parameters, { stdio: ['ignore', 'pipe', 'ignore'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const parts: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= maxPcm) parts.push(part);
      else child.kill('SIGKILL');
    });
    child.on('error', error => {
      clearTimeout(timer);
      reject(new FileNotFoundError(path, `cannot be converted: ${error.message}`));
    });
    child.on('close', code => {
      clearTimeout(timer);
      if (code === 0 && size > 0) resolve(Buffer.concat(parts));
      else reject(new FileNotFoundError(path, 'cannot be converted by ffmpeg'));
    });
  });
}

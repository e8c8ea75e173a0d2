import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const deadlineMs = 10_000;
const maxBytes = 32 * 1024 * 1024;
const freshMs = 60_000;
const maxFiles = 500;
const known = new Set(['.wav', '.mp3', '.ogg', '.opus', '.flac', '.m4a', '.r8', '.r16', '.ul', '.al', '.gsm']);
const byType: Readonly<Record<string, string>> = {
  'audio/wav': '.wav',
  'audio/x-wav': '.wav',
  'audio/wave': '.wav',
  'audio/vnd.wave': '.wav',
  'audio/mpeg': '.mp3',
  'audio/mp3': '.mp3',
  'audio/ogg': '.ogg',
  'audio/flac': '.flac',
};

const underWay = new Map<string, Promise<string>>();
let serial = 0;

/**
 * Fetches a sound over HTTP into a file and gives its path. A copy younger than a minute is used again, simultaneous
 * requests share one transfer, and size, time and number of files are bounded.
 * @throws Error when the address gives no sound in time
 */
export function fetchSound(url: string, cacheDir: string): Promise<string> {
  const present = underWay.get(url);
  if (present) return present;
  const transfer = freshOrFetched(url, cacheDir).finally(() => underWay.delete(url));
  underWay.set(url, transfer);
  return transfer;
}

async function freshOrFetched(url: string, cacheDir: string): Promise<string> {
  const key = createHash('sha256').update(url).digest('hex').slice(0, 32);
  await mkdir(cacheDir, { recursive: true });
  const files = await readdir(cacheDir);
  const cached = files.find(name => name.startsWith(`${key}.`));
  if (cached && (await ageMs(join(cacheDir, cached))) < freshMs) return join(cacheDir, cached);
  if (files.length >= maxFiles) await removeOldest(cacheDir, files);
  return download(url, join(cacheDir, key));
}

async function download(url: string, target: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(deadlineMs), redirect: 'follow' });
  if (!response.ok || !response.body) throw new Error(`HTTP status ${response.status}`);
  const extension = extensionOf(url, response.headers.get('content-type'));
  const part = `${target}~${process.pid}-${++serial}`;
  try {
    await pipeline(Readable.fromWeb(response.body), limited(maxBytes), createWriteStream(part));
    await rename(part, `${target}${extension}`);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return `${target}${extension}`;
}

function extensionOf(url: string, type: string | null): string {
  const fromType = byType[(type ?? '').split(';')[0]?.trim().toLowerCase() ?? ''];
  const fromPath = extname(new URL(url).pathname).toLowerCase();
  return fromType ?? (known.has(fromPath) ? fromPath : '.wav');
}

function limited(max: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length;
      if (bytes > max) callback(new Error(`larger than ${max} bytes`));
      else callback(null, chunk);
    },
  });
}

async function ageMs(path: string): Promise<number> {
  const found = await stat(path).catch(() => null); // removed meanwhile: as good as too old
  return found ? Date.now() - found.mtimeMs : Number.POSITIVE_INFINITY;
}

async function removeOldest(cacheDir: string, files: string[]): Promise<void> {
  const aged = await Promise.all(files.map(async name => ({ name, age: await ageMs(join(cacheDir, name)) })));
  const oldest = aged.sort((a, b) => b.age - a.age).slice(0, Math.ceil(maxFiles / 5));
  await Promise.all(oldest.map(({ name }) => rm(join(cacheDir, name), { force: true })));
}

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { pipeline } from 'node:stream/promises';
import { makeRoom } from './make-room.ts';

const deadlineMs = 10_000;
const maxBytes = 32 * 1024 * 1024;
const freshMs = 60_000;
const maxFreshMs = 86_400_000;
const maxCopies = 500;
/** Types of what may be a sound; without one the address decides. */
const sounding = /^(audio\/.+|video\/.+|application\/(ogg|octet-stream)|binary\/octet-stream|)$/;
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

/** A file that was fetched, and how its server is asked whether it is still the same (RFC 9110 section 13, RFC 9111). */
interface Copy {
  path: string;
  etag: string | null;
  modified: string | null;
  /** Until when nobody is asked; ms of the clock. */
  freshUntil: number;
}

const underWay = new Map<string, Promise<string>>();
const copies = new Map<string, Copy>();
let serial = 0;

/**
 * Fetches a sound over HTTP into a file and gives its path. A copy is used again for as long as its server says (max-age, at most
 * a day; a minute where nothing is said), then the server is asked whether it has changed; while that fails, the copy goes on.
 * Simultaneous requests share one transfer, and size, time and number of files are bounded.
 * @throws Error when the address gives no sound in time
 */
export function fetchSound(url: string, cacheDir: string): Promise<string> {
  const target = join(cacheDir, createHash('sha256').update(url).digest('hex').slice(0, 32));
  const present = underWay.get(target);
  if (present) return present;
  const transfer = freshOrFetched(url, target, cacheDir).finally(() => underWay.delete(target));
  underWay.set(target, transfer);
  return transfer;
}

async function freshOrFetched(url: string, target: string, cacheDir: string): Promise<string> {
  const copy = await kept(target);
  if (copy && Date.now() < copy.freshUntil) return copy.path;
  await mkdir(cacheDir, { recursive: true });
  try {
    remember(target, await fetched(url, target, copy));
    await makeRoom(cacheDir);
  } catch (error) {
    if (!copy) throw error;
    copy.freshUntil = Date.now() + freshMs; // what was heard before is better than nothing (RFC 9111 section 4.2.4)
  }
  return copies.get(target)?.path ?? '';
}

/** The copy, as long as its file is there. */
async function kept(target: string): Promise<Copy | null> {
  const copy = copies.get(target);
  const there = copy && (await stat(copy.path).catch(() => null)); // made room for others meanwhile
  return there ? copy : null;
}

function remember(target: string, copy: Copy): void {
  copies.delete(target);
  copies.set(target, copy);
  const [oldest] = copies.keys();
  if (copies.size > maxCopies && oldest !== undefined) copies.delete(oldest);
}

async function fetched(url: string, target: string, copy: Copy | null): Promise<Copy> {
  const headers: Record<string, string> = {};
  if (copy?.etag) headers['If-None-Match'] = copy.etag;
  if (copy?.modified) headers['If-Modified-Since'] = copy.modified;
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(deadlineMs), redirect: 'follow' });
  const about = {
    etag: response.headers.get('etag'),
    modified: response.headers.get('last-modified'),
    freshUntil: Date.now() + freshFor(response.headers.get('cache-control')),
  };
  if (response.status === 304 && copy) return { ...copy, freshUntil: about.freshUntil };
  if (!response.ok || !response.body) throw new Error(`HTTP status ${response.status}`);
  const path = `${target}${extensionOf(url, response.headers.get('content-type'))}`;
  await store(response.body, `${target}~${process.pid}-${++serial}`, path);
  return { path, ...about };
}

async function store(body: ReadableStream, part: string, path: string): Promise<void> {
  try {
    await pipeline(Readable.fromWeb(body), limited(maxBytes), createWriteStream(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** For how many ms a server lets a copy be used without a question. */
function freshFor(control: string | null): number {
  if (control === null) return freshMs;
  if (/\bno-(cache|store)\b/i.test(control)) return 0;
  const seconds = /\bmax-age="?(\d{1,9})/i.exec(control)?.[1];
  return seconds === undefined ? freshMs : Math.min(Number(seconds) * 1000, maxFreshMs);
}

/**
 * The ending that tells what is in a file: by the server's type, else by the address.
 * @throws Error when the server says that it is something else than a sound, such as a page that asks for a login
 */
function extensionOf(url: string, header: string | null): string {
  const type = (header ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (!sounding.test(type)) throw new Error(`${type} is no sound`);
  const fromType = byType[type];
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

import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';

/** The largest file that is taken, in bytes (accounts-and-plumbing 31). */
export const MOST_BYTES = 30 * 1024 * 1024;

/** A form's other parts and its boundaries need no more, in bytes. */
const ROOM_FOR_PARTS = 64 * 1024;

/** What a form with a file holds, received whole. The file at `path` is removed when the request is answered. */
export interface Upload {
  type: string;
  /** As the client calls it: one line, no folders. */
  filename: string;
  path: string;
  /** Bytes. */
  size: number;
  /** The same for the same form: SHA-256 of its type, filename and bytes. */
  fingerprint: Buffer;
}

const refused = (message: string): PlatformError => new PlatformError('INVALID_FILE_UPLOAD', message);
const tooLarge = (): PlatformError => refused(`The file is larger than ${MOST_BYTES / 1024 / 1024} MiB.`);

const LIMITS = { files: 1, fileSize: MOST_BYTES, fields: 10, fieldSize: 1024, fieldNameSize: 100, parts: 12 };

const parserOf = (request: IncomingMessage): BusboyInstance => {
  try {
    return new Busboy({ headers: request.headers as BusboyHeaders, limits: LIMITS });
  } catch {
    // It says which header it cannot read; what to send instead says more.
    throw refused('Send multipart/form-data with the parts file and type.');
  }
};

/** What browsers write for a quote and line ends in a name (HTML Living Standard, multipart/form-data). */
const ESCAPED = /%(22|0[AD])/gi;

/** A name that can stand in a header and in a list. */
const nameOf = (filename = ''): string => {
  const written = filename.replace(ESCAPED, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return [...written.replace(/[\p{Cc}\p{Cf}/\\]/gu, '')].slice(0, 255).join('') || 'file';
};

/** Failures of the disk are ours; the others are what the form looks like. */
const asRefusal = (error: unknown): unknown =>
  error instanceof PlatformError || (error instanceof Error && 'errno' in error)
    ? error
    : refused('The form breaks off or is no multipart/form-data.');

interface Parts {
  fields: Map<string, string>;
  filename?: string;
  size: number;
  hash: Hash;
  saved?: Promise<void>;
  /** Ends the saving of a form that is refused, and closes its file. */
  refusal: AbortController;
}

const save = (parts: Parts, stream: BusboyFileStream, path: string): Promise<void> => {
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      parts.size += chunk.length;
      parts.hash.update(chunk);
      done(null, chunk);
    },
  });
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  return pipeline(stream, count, file, { signal: parts.refusal.signal });
};

/** Reads a form to its end. Rejects as soon as it is known to be refused; the rest is then thrown away unread. */
const read = (request: IncomingMessage, path: string): Promise<Parts> => {
  const parser = parserOf(request);
  const parts: Parts = { fields: new Map(), size: 0, hash: createHash('sha256'), refusal: new AbortController() };
  return new Promise<Parts>((done, fail) => {
    parser.on('field', (name, value) => void parts.fields.set(name, value));
    parser.on('file', (name, stream, filename) => {
      if (name !== 'file')
        return fail(refused(`The part ${nameOf(name)} is a file, and only the part file may be one.`));
      parts.filename = nameOf(filename);
      stream.once('limit', () => fail(tooLarge()));
      parts.saved = save(parts, stream, path);
      parts.saved.catch(fail);
    });
    for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      parser.on(limit, () => fail(refused('The form has more parts than file and type.')));
    parser.on('error', fail).on('finish', () => done(parts));
    request.on('error', fail).on('close', () => request.complete || fail(refused('The form breaks off.')));
    request.pipe(parser);
  }).catch((error: unknown) => {
    request.unpipe(parser).resume();
    parts.refusal.abort();
    throw asRefusal(error);
  });
};

const uploadOf = ({ fields, filename, size, hash }: Parts, types: readonly string[], path: string): Upload => {
  const type = fields.get('type');
  if (filename === undefined) throw refused('The part file is missing.');
  if (type === undefined) throw refused('The part type is missing.');
  if (!types.includes(type)) throw new PlatformError('INVALID_FILE_TYPE', `type must be ${types.join(' or ')} here.`);
  const fingerprint = hash.update(`\n${type}\n${filename}`).digest();
  return { type, filename, path, size, fingerprint };
};

/**
 * Receives a form with a file into `folder` and hands it to `use`; nothing of it is left there afterwards. Memory holds
 * a few chunks of it. Rejects INVALID_FILE_UPLOAD for what is no such form or is too large, INVALID_FILE_TYPE.
 */
export const withUpload = async <T>(
  request: IncomingMessage,
  given: { folder: string; types: readonly string[] },
  use: (upload: Upload) => Promise<T>,
): Promise<T> => {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES + ROOM_FOR_PARTS) throw tooLarge();
  await mkdir(given.folder, { recursive: true });
  const path = join(given.folder, newId());
  try {
    const parts = await read(request, path);
    await parts.saved?.catch((error: unknown) => {
      throw asRefusal(error);
    });
    return await use(uploadOf(parts, given.types, path));
  } finally {
    await rm(path, { force: true });
  }
};

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AwsV4Signer } from 'aws4fetch';
import { request } from 'undici';
import { PlatformError } from '#contract/errors';
import { fromDate } from '#contract/time';
import type { Link } from '../downloads.ts';
import { FILE_LINK_MS, type Kept, type Vault } from './vault.ts';

/** A bucket that takes longer is away, in milliseconds: so long for its answer, and more for each byte on a slow line. */
const PATIENCE_MS = 60_000;
const BYTES_PER_MS = 256;

const patienceFor = (bytes: number): number => PATIENCE_MS + Math.ceil(bytes / BYTES_PER_MS);

const REGION = 'us-east-1';

type Method = 'GET' | 'PUT' | 'DELETE';

/** The header that saves a file under its name: RFC 6266, with the plain name for old browsers. */
const saveAs = (filename: string): string => {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
};

/**
 * Stored files as objects of a bucket of any S3-compatible server, named by their ids. Everything goes by presigned
 * URLs (AWS Signature Version 4, query parameters): our own requests and the links that clients get.
 */
export class BucketVault implements Vault {
  readonly #bucket: URL;
  readonly #region: string;
  readonly #keys: { accessKeyId: string; secretAccessKey: string };

  /** `address`: `https://key:secret@host/bucket?region=…`; key and secret percent-encoded. */
  constructor(address: string) {
    const { username, password, origin, pathname, searchParams } = new URL(address);
    this.#bucket = new URL(`${origin}${pathname.replace(/\/*$/, '/')}`);
    this.#region = searchParams.get('region') ?? REGION;
    this.#keys = { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) };
  }

  /** Rejects SERVICE_UNAVAILABLE when the bucket does not take it. */
  async put(id: string, path: string): Promise<void> {
    const { size } = await stat(path);
    await this.#send('PUT', id, { body: createReadStream(path), headers: { 'content-length': `${size}` } }, size);
  }

  async remove(id: string): Promise<void> {
    await this.#send('DELETE', id);
  }

  async link({ id, filename }: Kept): Promise<Link> {
    const uri = await this.#sign('GET', id, FILE_LINK_MS, { 'response-content-disposition': saveAs(filename) });
    return { uri, tm_expire: fromDate(new Date(Date.now() + FILE_LINK_MS)) };
  }

  async #sign(method: Method, id: string, lifetime_ms: number, query: Record<string, string> = {}): Promise<string> {
    const url = new URL(id, this.#bucket);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    url.searchParams.set('X-Amz-Expires', `${Math.ceil(lifetime_ms / 1000)}`);
    const asked = { method, url: url.href, service: 's3', region: this.#region, signQuery: true, ...this.#keys };
    return (await new AwsV4Signer(asked).sign()).url.href;
  }

  async #send(
    method: Method,
    id: string,
    given: Partial<Parameters<typeof request>[1]> = {},
    bytes = 0,
  ): Promise<void> {
    const patience_ms = patienceFor(bytes);
    const url = await this.#sign(method, id, 2 * patience_ms);
    const signal = AbortSignal.timeout(patience_ms);
    // The message of a failed request may hold the signed URL; its code says enough.
    const answer = await request(url, { method, signal, ...given }).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
      throw new PlatformError('SERVICE_UNAVAILABLE', `The file storage is away (${code}). Try again.`);
    });
    await answer.body.dump();
    const done = answer.statusCode < 300 || (method === 'DELETE' && answer.statusCode === 404);
    if (!done)
      throw new PlatformError('SERVICE_UNAVAILABLE', `The file storage answered ${answer.statusCode}. Try again.`);
  }
}

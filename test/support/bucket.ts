import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface S3Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}
type S3ServerClass = new (options: Record<string, unknown>) => S3Server;

/** The key and the secret that it knows. It does not compute signatures; `signatureOf` does. */
const KEY = 'S3RVER';

/** An S3 server of a test with one bucket. */
export interface TestBucket {
  /** What STORAGE_URL is set to; another key is one that the bucket refuses. */
  url(key?: string): string;
  origin: string;
  stop(): Promise<void>;
}

/** Starts an S3-compatible server (s3rver) on loopback. */
export const startBucket = async (): Promise<TestBucket> => {
  const S3rver = createRequire(import.meta.url)('s3rver') as S3ServerClass;
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-bucket-'));
  const configureBuckets = [{ name: 'files' }];
  const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets });
  const { port } = await server.run();
  const origin = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { url: (key = KEY) => `http://${key}:${KEY}@127.0.0.1:${port}/files`, origin, stop };
};

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The signature that a presigned URL must have: AWS Signature Version 4, query parameters, unsigned payload. */
export const signatureOf = (method: string, uri: string, secret = KEY): string => {
  const url = new URL(uri);
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = [...url.searchParams].filter(([name]) => name !== 'X-Amz-Signature');
  const query = pairs
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const asked = [method, url.pathname, query, `host:${url.host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
  const digest = createHash('sha256').update(asked).digest('hex');
  const text = ['AWS4-HMAC-SHA256', url.searchParams.get('X-Amz-Date'), scope.join('/'), digest].join('\n');
  const key = scope.reduce<string | Buffer>((at, part) => hmac(at, part), `AWS4${secret}`);
  return hmac(key, text).toString('hex');
};

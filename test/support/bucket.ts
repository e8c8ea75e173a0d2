import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from 'aws4';

interface S3Server {
  configureBuckets(): Promise<void>;
  callback(): RequestListener;
}
type S3ServerClass = new (options: Record<string, unknown>) => S3Server;

/** The key and the secret of the account that owns the bucket; s3rver knows no other. */
const KEY = 'S3RVER';
const REGION = 'us-east-1';

/** An S3 server of a test with one bucket. */
export interface TestBucket {
  /** What STORAGE_URL is set to; with another key or secret it is one that the bucket refuses. */
  url(given?: { key?: string; secret?: string }): string;
  origin: string;
  stop(): Promise<void>;
}

/**
 * Whether a request carries the signature it must have: AWS Signature Version 4 in query parameters. s3rver believes
 * those of version 4, so the signer of another hand (aws4) judges in front of it; keys and expiry are s3rver's to check.
 */
const isSigned = ({ method = '', url = '', headers: { host = '' } }: IncomingMessage): boolean => {
  const asked = new URL(url, `http://${host}`);
  const given = asked.searchParams.get('X-Amz-Signature');
  asked.searchParams.delete('X-Amz-Signature');
  const path = `${asked.pathname}${asked.search}`;
  const [accessKeyId = ''] = (asked.searchParams.get('X-Amz-Credential') ?? '').split('/');
  const keys = { accessKeyId, secretAccessKey: KEY };
  const signed = sign({ service: 's3', region: REGION, signQuery: true, method, host, path }, keys);
  return given !== null && new URL(signed.path ?? '', asked).searchParams.get('X-Amz-Signature') === given;
};

const REFUSAL = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SignatureDoesNotMatch</Code></Error>';

/** Starts an S3-compatible server (s3rver) on loopback. */
export const startBucket = async (): Promise<TestBucket> => {
  const S3rver = createRequire(import.meta.url)('s3rver') as S3ServerClass;
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-bucket-'));
  const s3 = new S3rver({ silent: true, directory, configureBuckets: [{ name: 'files' }] });
  await s3.configureBuckets();
  const serve = s3.callback();
  const server = createServer((request, response) => {
    if (isSigned(request)) serve(request, response);
    else response.writeHead(403, { 'Content-Type': 'application/xml', Connection: 'close' }).end(REFUSAL);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
    await rm(directory, { recursive: true, force: true });
  };
  const url: TestBucket['url'] = ({ key = KEY, secret = KEY } = {}) =>
    `http://${key}:${secret}@127.0.0.1:${port}/files`;
  return { url, origin: `http://127.0.0.1:${port}`, stop };
};

import { randomBytes } from 'node:crypto';

const ACCEPTED = /^[A-Za-z0-9_-]{1,64}$/;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** 16 random bytes as 26 base32 characters without padding (RFC 4648 section 6, lower case). */
const base32 = (bytes: Buffer): string => {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const padded = bits << 2n;
  return Array.from({ length: 26 }, (_, at) => BASE32[Number((padded >> BigInt(5 * (25 - at))) & 31n)]).join('');
};

/** The id of a request: the caller's when it is well formed, else `req_` and 26 characters (accounts-and-plumbing 1.2). */
export const requestIdOf = (header: string | string[] | undefined): string =>
  typeof header === 'string' && ACCEPTED.test(header) ? header : `req_${base32(randomBytes(16))}`;

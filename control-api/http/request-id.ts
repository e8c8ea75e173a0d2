import { randomBytes } from 'node:crypto';

const ACCEPTED = /^[A-Za-z0-9_-]{1,64}$/;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** 26 random characters of base32 (RFC 4648 section 6, lower case): 130 bits. */
const random = (): string => {
  let text = '';
  for (const byte of randomBytes(26)) text += BASE32[byte & 31];
  return text;
};

/** The id of a request: the caller's when it is well formed, else `req_` and 26 characters (accounts-and-plumbing 1.2). */
export const requestIdOf = (header: string | string[] | undefined): string =>
  typeof header === 'string' && ACCEPTED.test(header) ? header : `req_${random()}`;

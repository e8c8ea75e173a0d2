import { randomBytes } from 'node:crypto';
import type { MasterKey, Suite } from '../media/secure/srtp-keys.ts';
import { keyBytes, saltBytes, suites } from '../media/secure/srtp-keys.ts';

/** One `a=crypto` line (RFC 4568 section 9.1): a key for what its writer sends. */
export interface CryptoLine extends MasterKey {
  tag: number;
}

const line = /^crypto:(\d{1,9}) ([A-Z0-9_]{1,40}) inline:([A-Za-z0-9+/]{1,60}={0,2})(?:\|(?:2\^)?\d{1,20})?$/;

/** Reads the value of an attribute. Null for what is none, and for suites, key identifiers and parameters that we do not know. */
export function parseCrypto(attribute: string): CryptoLine | null {
  const [, tag, name, inline] = line.exec(attribute) ?? [];
  const material = Buffer.from(inline ?? '', 'base64');
  if (!name || !(name in suites) || material.length !== keyBytes + saltBytes) return null;
  return {
    tag: Number(tag),
    suite: name as Suite,
    key: material.subarray(0, keyBytes),
    salt: material.subarray(keyBytes),
  };
}

/** The same as a line of a description. */
export function writeCrypto({ tag, suite, key, salt }: CryptoLine): string {
  return `a=crypto:${tag} ${suite} inline:${Buffer.concat([key, salt]).toString('base64')}`;
}

/** Keys of our own, one for each suite, for as long as a leg lives. */
export function newKeys(): MasterKey[] {
  return (Object.keys(suites) as Suite[]).map(suite => ({
    suite,
    key: randomBytes(keyBytes),
    salt: randomBytes(saltBytes),
  }));
}

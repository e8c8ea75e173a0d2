import { createHash, randomBytes, randomInt } from 'node:crypto';
import bcrypt from 'bcryptjs';

const BCRYPT_COST = 10;
const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const READABLE = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';

const pick = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** A new accesskey token: `tk_` and 32 URL-safe random characters (accounts-and-plumbing 10). */
export const newAccesskeyToken = (): string => `tk_${pick(URL_SAFE, 32)}`;

/** What is stored of an accesskey: SHA-256 in hex of the whole token (4.4). */
export const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** What is shown of an accesskey: its first 11 characters (4.4). */
export const prefixOfToken = (token: string): string => token.slice(0, 11);

/** A new webhook secret: 32 URL-safe random characters (4.4). */
export const newWebhookSecret = (): string => pick(URL_SAFE, 32);

/** A password people can type: no letters or digits that look alike. */
export const newPassword = (length = 16): string => pick(READABLE, length);

/** A direct hash: `direct.` and 12 hex digits (17). */
export const newDirectHash = (): string => `direct.${randomBytes(6).toString('hex')}`;

const RESERVED_LABELS = ['pstn', 'sip', 'echo', 'reg', 'www', 'api', 'trunk', 'conference'];

/** A SIP label: 4 random base36 characters, never a reserved word (19.1). */
export const newSipLabel = (): string => {
  const label = pick(BASE36, 4);
  return RESERVED_LABELS.includes(label) ? newSipLabel() : label;
};

/** A free-looking virtual number: +899 and nine digits, outside the reserved +899000 (15.3, 15.4). */
export const randomVirtualNumber = (): string =>
  `+899${randomInt(1_000_000, 1_000_000_000).toString().padStart(9, '0')}`;

/** The bcrypt hash of an agent's password (4.4). */
export const hashPassword = (password: string): Promise<string> => bcrypt.hash(password, BCRYPT_COST);

/** Any hash of the same cost: compared when there is no such user, so that both answers take equally long (8.4). */
const DUMMY_HASH = bcrypt.hash(newPassword(), BCRYPT_COST);

/** True when the password fits the hash. Without a hash it is false, after the same work. */
export const passwordMatches = async (password: string, hash: string | undefined): Promise<boolean> => {
  const fits = await bcrypt.compare(password, hash ?? (await DUMMY_HASH));
  return fits && hash !== undefined;
};

import { createHash, randomBytes } from 'node:crypto';

/** Digest authentication as a client (RFC 7616, RFC 8760 for SIP, RFC 2617 for servers without qop). */

export interface Challenge {
  realm: string;
  nonce: string;
  algorithm: string;
  qop: string[];
  opaque: string | undefined;
  stale: boolean;
}

export interface Credentials {
  username: string;
  password: string;
}

export interface DigestInput extends Credentials {
  challenge: Challenge;
  method: string;
  uri: string;
  /** How many requests have used this nonce, this one included. */
  nonceCount: number;
  cnonce?: string;
}

const HASHES: Record<string, string> = { md5: 'md5', 'sha-256': 'sha256', 'sha-512-256': 'sha512-256' };
const STRENGTH = ['sha-512-256', 'sha-256', 'md5'];

/** Reads a WWW-Authenticate or Proxy-Authenticate value; undefined when it is not Digest or lacks realm or nonce. */
export function parseChallenge(value: string): Challenge | undefined {
  if (!/^digest\s/i.test(value.trim())) return undefined;
  const fields = new Map<string, string>();
  for (const match of value.matchAll(/([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/gi)) {
    fields.set((match[1] ?? '').toLowerCase(), match[2]?.replace(/\\(.)/g, '$1') ?? match[3] ?? '');
  }
  const realm = fields.get('realm');
  const nonce = fields.get('nonce');
  if (realm === undefined || nonce === undefined) return undefined;
  return {
    realm,
    nonce,
    algorithm: fields.get('algorithm') ?? 'MD5',
    qop: (fields.get('qop') ?? '').split(',').flatMap(q => q.trim().toLowerCase() || []),
    opaque: fields.get('opaque'),
    stale: fields.get('stale')?.toLowerCase() === 'true',
  };
}

/** The strongest challenge we can answer, or the one of the wanted algorithm. */
export function chooseChallenge(values: string[], wanted?: string): Challenge | undefined {
  const known = values.flatMap(v => parseChallenge(v) ?? []).filter(c => STRENGTH.includes(plainName(c.algorithm)));
  if (wanted !== undefined) return known.find(c => c.algorithm.toLowerCase() === wanted.toLowerCase());
  return known.sort((a, b) => STRENGTH.indexOf(plainName(a.algorithm)) - STRENGTH.indexOf(plainName(b.algorithm)))[0];
}

function plainName(algorithm: string): string {
  return algorithm.toLowerCase().replace(/-sess$/, '');
}

/** The value of an Authorization or Proxy-Authorization header. */
export function authorization(input: DigestInput): string {
  const { challenge } = input;
  const cnonce = input.cnonce ?? randomBytes(12).toString('hex');
  const count = input.nonceCount.toString(16).padStart(8, '0');
  const qop = challenge.qop.includes('auth');
  const quoted: [string, string][] = [
    ['username', input.username],
    ['realm', challenge.realm],
    ['nonce', challenge.nonce],
    ['uri', input.uri],
    ['response', digestResponse(input, cnonce, count)],
  ];
  if (challenge.opaque !== undefined) quoted.push(['opaque', challenge.opaque]);
  if (qop || /-sess$/i.test(challenge.algorithm)) quoted.push(['cnonce', cnonce]);
  const plain = [`algorithm=${challenge.algorithm}`, ...(qop ? [`qop=auth`, `nc=${count}`] : [])];
  return `Digest ${[...quoted.map(([k, v]) => `${k}="${v.replace(/["\\]/g, '\\$&')}"`), ...plain].join(', ')}`;
}

/** RFC 7616 section 3.4.1. */
function digestResponse(input: DigestInput, cnonce: string, count: string): string {
  const { challenge } = input;
  const hash = (text: string) =>
    createHash(HASHES[plainName(challenge.algorithm)] ?? 'md5')
      .update(text)
      .digest('hex');
  const secret = hash(`${input.username}:${challenge.realm}:${input.password}`);
  const ha1 = /-sess$/i.test(challenge.algorithm) ? hash(`${secret}:${challenge.nonce}:${cnonce}`) : secret;
  const ha2 = hash(`${input.method}:${input.uri}`);
  const middle = challenge.qop.includes('auth') ? `${challenge.nonce}:${count}:${cnonce}:auth` : challenge.nonce;
  return hash(`${ha1}:${middle}:${ha2}`);
}

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';

/** A nonce is good for this long; after it a correct answer is told `stale` and asked again. */
const NONCE_LIFE_MS = 300_000;

const HASHES = new Map([
  ['MD5', 'md5'],
  ['SHA-256', 'sha256'],
]);

/**
 * Phones that give up on a challenge that offers anything but MD5, instead of passing over it as RFC 8760 section 2.4
 * asks. They are offered MD5 alone.
 */
const KNOW_ONLY_MD5 = [/^baresip v[01]\./i, /^JsSIP\b/i];

/** `forged`: wrong, and with a nonce that we did not give to this source; its address may be somebody else's. */
export type DigestVerdict = 'accepted' | 'stale' | 'refused' | 'forged';

/** The fields of an Authorization header; quoted and bare values alike. */
export const parseAuthorization = (header: string): Record<string, string> | undefined => {
  if (!/^Digest\s/i.test(header) || header.length > 4096) return undefined;
  const fields: Record<string, string> = {};
  for (const [, name, quoted, bare] of header.slice(7).matchAll(/([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/gi)) {
    if (name) fields[name.toLowerCase()] = quoted ?? bare ?? '';
  }
  return fields;
};

const equal = (a: string, b: string): boolean => {
  const [left, right] = [a, b].map(text => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(left, right);
};

/**
 * The response a client must give (RFC 2617 section 3.2.2, RFC 7616 section 3.4.1). One that names an algorithm or a
 * quality of protection that nobody offered has no right answer; the work is done all the same.
 */
const expectedResponse = (fields: Record<string, string>, method: string, realm: string, password: string): string => {
  const algorithm = HASHES.get((fields.algorithm ?? 'MD5').toUpperCase()) ?? 'md5';
  const hash = (text: string) => createHash(algorithm).update(text).digest('hex');
  const secret = hash(`${fields.username}:${realm}:${password}`);
  const request = hash(`${method}:${fields.uri}`);
  if (!fields.qop) return hash(`${secret}:${fields.nonce}:${request}`);
  return hash(`${secret}:${fields.nonce}:${fields.nc}:${fields.cnonce}:${fields.qop}:${request}`);
};

/**
 * Digest authentication of phones (RFC 3261 section 22, RFC 8760). Nonces are signed with the time they were made and
 * the source they were given to, so that any node can check them; each nonce count is accepted once over all nodes.
 */
export class Digest {
  readonly #redis: Redis;
  readonly #algorithms: string[];
  readonly #now: () => number;
  #secret: Promise<string> | undefined;

  /** @param now milliseconds since the epoch */
  constructor(redis: Redis, algorithms: string[], now: () => number = Date.now) {
    this.#now = now;
    this.#redis = redis;
    this.#algorithms = algorithms.filter(name => HASHES.has(name.toUpperCase()));
  }

  /**
   * The lines of a challenge for a realm, the first algorithm first: some phones only read the first one.
   * @param source whom the nonce is for
   */
  async challenge(realm: string, userAgent: string, stale: boolean, source: string): Promise<string[]> {
    const nonce = await this.#newNonce(source);
    const onlyMd5 = KNOW_ONLY_MD5.some(known => known.test(userAgent));
    return (onlyMd5 ? ['MD5'] : this.#algorithms).map(
      algorithm =>
        `Digest realm="${realm}", nonce="${nonce}", algorithm=${algorithm}, qop="auth"${stale ? ', stale=true' : ''}`,
    );
  }

  /**
   * Whether an answer proves the password. `stale`: it does, but the nonce is too old or was used before.
   * The work is the same for an unknown user: pass any password.
   */
  async verify(
    fields: Record<string, string>,
    method: string,
    realm: string,
    password: string,
    source: string,
  ): Promise<DigestVerdict> {
    const correct =
      equal(fields.response ?? '', expectedResponse(fields, method, realm, password)) && this.#offered(fields);
    const age = await this.#ageOf(fields.nonce ?? '', source);
    if (!correct || fields.realm !== realm) return age === undefined ? 'forged' : 'refused';
    if (age === undefined) return 'stale';
    if (age > NONCE_LIFE_MS || !(await this.#firstUse(fields))) return 'stale';
    return 'accepted';
  }

  /** An answer to something else than our challenge proves nothing. */
  #offered({ algorithm = 'MD5', qop = '' }: Record<string, string>): boolean {
    const known = this.#algorithms.some(name => name.toUpperCase() === algorithm.toUpperCase());
    return (known || algorithm.toUpperCase() === 'MD5') && (qop === '' || qop === 'auth');
  }

  /** RFC 2069 clients count nothing: a nonce is good for one request of theirs, so that nobody repeats it. */
  async #firstUse(fields: Record<string, string>): Promise<boolean> {
    const key = keys.nonceCount(fields.nonce ?? '', fields.qop ? String(fields.nc).slice(0, 16) : 'uncounted');
    return (await this.#redis.set(key, '1', 'PX', NONCE_LIFE_MS, 'NX')) === 'OK';
  }

  async #newNonce(source: string): Promise<string> {
    const body = `${this.#now().toString(36)}.${randomBytes(9).toString('base64url')}`;
    return `${body}.${await this.#sign(`${body} ${source}`)}`;
  }

  async #ageOf(nonce: string, source: string): Promise<number | undefined> {
    const [time = '', salt = '', signature = ''] = nonce.split('.');
    if (!equal(signature, await this.#sign(`${time}.${salt} ${source}`))) return undefined;
    return this.#now() - Number.parseInt(time, 36);
  }

  async #sign(body: string): Promise<string> {
    this.#secret ??= this.#sharedSecret();
    return createHmac('sha256', await this.#secret)
      .update(body)
      .digest('base64url')
      .slice(0, 22);
  }

  async #sharedSecret(): Promise<string> {
    await this.#redis.set(keys.nonceSecret, randomBytes(32).toString('base64url'), 'NX');
    const secret = await this.#redis.get(keys.nonceSecret);
    if (!secret) throw new Error('Redis holds no nonce secret');
    return secret;
  }
}

import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { Digest, parseAuthorization } from '../../media-app/sip/digest.ts';
import { testRedis } from '../support/database.ts';

const REALM = 'abcd.reg.trunkline.localhost';
const HERE = '192.0.2.7';
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** What a phone with this password answers to a challenge. */
const answer = (challenge: string, password: string, nc = '00000001', realm = REALM): Record<string, string> => {
  const nonce = /nonce="([^"]+)"/.exec(challenge)?.[1] ?? '';
  const fields = {
    username: '1001',
    realm,
    nonce,
    uri: `sip:${REALM}`,
    algorithm: 'MD5',
    qop: 'auth',
    nc,
    cnonce: 'c0',
  };
  const secret = md5(`1001:${realm}:${password}`);
  return { ...fields, response: md5(`${secret}:${nonce}:${nc}:c0:auth:${md5(`REGISTER:${fields.uri}`)}`) };
};

describe('digest of phones', () => {
  let redis: Redis;
  let clock = 1_700_000_000_000;
  let digest: Digest;
  const challenge = async (): Promise<string> => (await digest.challenge(REALM, '', false, HERE))[0] ?? '';
  const verdict = (fields: Record<string, string>) => digest.verify(fields, 'REGISTER', REALM, 'secret', HERE);

  before(async () => {
    redis = new Redis((await testRedis()).url);
    digest = new Digest(redis, ['MD5', 'SHA-256'], () => clock);
  });
  after(() => redis.disconnect());

  it('takes the right password', async () =>
    assert.equal(await verdict(answer(await challenge(), 'secret')), 'accepted'));

  it('refuses a wrong one', async () => assert.equal(await verdict(answer(await challenge(), 'wrong')), 'refused'));

  it('refuses an answer for another realm', async () =>
    assert.equal(await verdict(answer(await challenge(), 'secret', '00000001', 'other.example')), 'refused'));

  it('takes each nonce count once: a replayed answer is stale', async () => {
    const fields = answer(await challenge(), 'secret');
    assert.equal(await verdict(fields), 'accepted');
    assert.equal(await verdict(fields), 'stale');
  });

  const foreignAnswers: Record<string, Record<string, string>> = {
    'an algorithm nobody knows': { algorithm: 'FOO' },
    'an algorithm of the engine’s objects': { algorithm: 'constructor' },
    'a protection nobody offered': { qop: 'auth-int' },
    'an empty answer': {},
  };
  for (const [what, foreign] of Object.entries(foreignAnswers))
    it(`refuses ${what}, however it is answered`, async () => {
      const fields = { ...answer(await challenge(), 'secret'), ...foreign };
      assert.equal(await verdict({ ...fields, response: '' }), 'refused');
      const secret = md5(`1001:${REALM}:secret`);
      const { nonce, nc, cnonce, qop, uri } = fields;
      const response = md5(`${secret}:${nonce}:${nc}:${cnonce}:${qop}:${md5(`REGISTER:${uri}`)}`);
      if (Object.keys(foreign).length > 0) assert.equal(await verdict({ ...fields, response }), 'refused');
    });

  it('takes an answer without a count once: nobody repeats it', async () => {
    const { qop: _qop, nc: _nc, cnonce: _cnonce, ...plain } = answer(await challenge(), 'secret');
    const request = md5(`REGISTER:${plain['uri']}`);
    const fields = { ...plain, response: md5(`${md5(`1001:${REALM}:secret`)}:${plain['nonce']}:${request}`) };
    assert.equal(await verdict(fields), 'accepted');
    assert.equal(await verdict(fields), 'stale');
  });

  it('takes the next count of the same nonce', async () => {
    const asked = await challenge();
    assert.equal(await verdict(answer(asked, 'secret', '00000001')), 'accepted');
    assert.equal(await verdict(answer(asked, 'secret', '00000002')), 'accepted');
  });

  it('a nonce goes stale after five minutes', async () => {
    const fields = answer(await challenge(), 'secret');
    clock += 301_000;
    assert.equal(await verdict(fields), 'stale');
  });

  it('a nonce we never made proves nothing', async () => {
    const forged = answer('nonce="m0.abc.def"', 'wrong');
    assert.equal(await verdict(forged), 'forged');
    assert.equal(await verdict(answer('nonce="m0.abc.def"', 'secret')), 'stale', 'the password is right: ask again');
  });

  it('another node knows the nonces of this one', async () => {
    const other = new Digest(redis, ['MD5'], () => clock);
    assert.equal(
      await other.verify(answer(await challenge(), 'secret'), 'REGISTER', REALM, 'secret', HERE),
      'accepted',
    );
  });

  it('a nonce given to one source proves nothing at another', async () => {
    const at = async (password: string) =>
      digest.verify(answer(await challenge(), password), 'REGISTER', REALM, 'secret', '192.0.2.8');
    assert.deepEqual([await at('secret'), await at('wrong')], ['stale', 'forged']);
  });

  it('offers MD5 alone to phones that know nothing else', async () => {
    const both = await digest.challenge(REALM, 'Linphone/5.1', false, HERE);
    assert.match(both[1] ?? '', /SHA-256/);
    for (const phone of ['baresip v1.0.0 (x86_64/linux)', 'JsSIP 3.13.8'])
      assert.equal((await digest.challenge(REALM, phone, false, HERE)).length, 1, phone);
  });

  it('reads quoted and bare fields, and nothing that is no digest', () => {
    assert.deepEqual(parseAuthorization('Digest username="a, b", nc=00000001,qop=auth'), {
      username: 'a, b',
      nc: '00000001',
      qop: 'auth',
    });
    assert.equal(parseAuthorization('Basic YTpi'), undefined);
    assert.equal(parseAuthorization(`Digest username="${'x'.repeat(5000)}"`), undefined);
  });
});

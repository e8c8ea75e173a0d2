import { strict as assert } from 'node:assert';
import { authorization, chooseChallenge, parseChallenge } from '../../../scripts/phone/digest.ts';
import type { DigestInput } from '../../../scripts/phone/digest.ts';

function responseOf(input: DigestInput): string | undefined {
  return /response="([0-9a-f]+)"/.exec(authorization(input))?.[1];
}

function input(challenge: string, password: string, cnonce: string): DigestInput {
  const parsed = parseChallenge(challenge);
  assert.ok(parsed);
  return {
    username: 'Mufasa',
    password,
    challenge: parsed,
    method: 'GET',
    uri: '/dir/index.html',
    nonceCount: 1,
    cnonce,
  };
}

describe('the phone answers digest challenges', () => {
  const old =
    'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"';
  const rfc7616 = (algorithm: string) =>
    `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`;
  const cnonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';

  it('as RFC 2617 section 3.5 shows, with qop', () => {
    const asked = input(`${old}, qop="auth,auth-int"`, 'Circle Of Life', '0a4f113b');
    assert.equal(responseOf(asked), '6629fae49393a05397450978507c4ef1');
  });

  it('without qop, as RFC 2069 did', () => {
    assert.equal(responseOf(input(old, 'Circle Of Life', '')), '670fd8c2df070c60b045671b8b24ff02');
  });

  it('as RFC 7616 section 3.9.1 shows, with MD5', () => {
    assert.equal(responseOf(input(rfc7616('MD5'), 'Circle of Life', cnonce)), '8ca523f5e9506fed4657c9700eebdbec');
  });

  it('as RFC 7616 section 3.9.1 shows, with SHA-256', () => {
    const expected = '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1';
    assert.equal(responseOf(input(rfc7616('SHA-256'), 'Circle of Life', cnonce)), expected);
  });

  it('with the count of uses of the nonce in eight hexadecimal digits', () => {
    const asked = { ...input(rfc7616('MD5'), 'x', cnonce), nonceCount: 27 };
    assert.match(authorization(asked), /qop=auth, nc=0000001b/);
  });

  it('choosing the strongest of several, or the one it was told to', () => {
    const both = [rfc7616('MD5'), rfc7616('SHA-256'), 'Basic realm="x"', rfc7616('ROT13')];
    assert.equal(chooseChallenge(both)?.algorithm, 'SHA-256');
    assert.equal(chooseChallenge(both, 'MD5')?.algorithm, 'MD5');
    assert.equal(chooseChallenge([rfc7616('ROT13')]), undefined);
  });
});

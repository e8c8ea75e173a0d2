import { strict as assert } from 'node:assert';
import { SignJWT } from 'jose';
import { reasonOf, apiOfTests, type Answer } from '../support/api.ts';

describe('authentication', () => {
  const api = apiOfTests();
  let token: string;
  before(async () => {
    token = await login();
  });

  const login = async (): Promise<string> => {
    const { username, password } = api.welcome;
    const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
    return String(answer.body['token']);
  };
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    api.request('GET', path, undefined, { credentials: {}, headers });

  describe('where a credential is looked for', () => {
    const accepted: [string, () => Promise<Answer>][] = [
      ['bearer header', () => get('/v1.0/flows', { Authorization: `Bearer ${token}` })],
      ['query token', () => get(`/v1.0/flows?token=${token}`)],
      ['cookie token', () => get('/v1.0/flows', { Cookie: `a=b; token=${token}` })],
      ['query accesskey', () => get(`/v1.0/flows?accesskey=${api.welcome.accesskey}`)],
      ['cookie accesskey', () => get('/v1.0/flows', { Cookie: `accesskey=${api.welcome.accesskey}` })],
      [
        'query token beside a bad header',
        () => get(`/v1.0/flows?token=${token}`, { Authorization: 'Bearer nonsense' }),
      ],
      ['header when the query token is empty', () => get('/v1.0/flows?token=', { Authorization: `Bearer ${token}` })],
    ];
    for (const [name, ask] of accepted)
      it(`${name} is accepted`, async () => {
        assert.equal((await ask()).status, 200);
      });

    const refused: [string, string, () => Promise<Answer>][] = [
      ['nothing', 'AUTHENTICATION_REQUIRED', () => get('/v1.0/flows')],
      ['a key as query token', 'INVALID_CREDENTIALS', () => get(`/v1.0/flows?token=${api.welcome.accesskey}`)],
      ['a token as accesskey', 'INVALID_CREDENTIALS', () => get(`/v1.0/flows?accesskey=${token}`)],
      [
        'a bad cookie before a good header',
        'INVALID_CREDENTIALS',
        () => get('/v1.0/flows', { Cookie: 'token=x', Authorization: `Bearer ${token}` }),
      ],
      [
        'a token with a changed signature',
        'INVALID_CREDENTIALS',
        () => get(`/v1.0/flows?token=${token.slice(0, -3)}abc`),
      ],
      ['an unsigned token', 'INVALID_CREDENTIALS', () => get(`/v1.0/flows?token=${unsigned()}`)],
    ];
    for (const [name, reason, ask] of refused)
      it(`${name} is ${reason}`, async () => {
        const answer = await ask();
        assert.deepEqual([answer.status, reasonOf(answer)], [401, reason]);
      });

    const unsigned = (): string => {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg: 'none' })}.${part({ type: 'agent', agent: { id: 'x' }, expire: '2999-01-01T00:00:00Z' })}.`;
    };

    it('a token of another secret, another type or past its expire claim is INVALID_CREDENTIALS', async () => {
      const row = await api.database.db('settings').where({ key: 'token_secret' }).first<{ value: string }>('value');
      const ours = new TextEncoder().encode(row.value);
      const theirs = new TextEncoder().encode('x'.repeat(43));
      const agent = await api.database.db('agents').first<{ id: string }>('id');
      const make = (secret: Uint8Array, claims: Record<string, unknown>): Promise<string> =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret);
      const later = '2999-01-01T00:00:00.000000Z';
      const good = await make(ours, { agent, expire: later });
      assert.equal((await get(`/v1.0/flows?token=${good}`)).status, 200, 'a missing type means agent');
      for (const bad of [
        await make(theirs, { type: 'agent', agent, expire: later }),
        await make(ours, { type: 'direct', agent, expire: later }),
        await make(ours, { type: 'agent', agent, expire: '2020-01-01T00:00:00.000000Z' }),
        await make(ours, { type: 'agent', agent: { id: 'x' }, expire: later }),
      ])
        assert.equal(reasonOf(await get(`/v1.0/flows?token=${bad}`)), 'INVALID_CREDENTIALS');
    });
  });

  describe('login', () => {
    const post = (raw: string): Promise<Answer> =>
      api.request('POST', '/auth/login', undefined, { credentials: {}, raw });

    it('gives a token for seven days and sets it as a cookie that scripts cannot read', async () => {
      const { username, password } = api.welcome;
      const answer = await post(JSON.stringify({ username: username.toUpperCase(), password }));
      assert.equal(answer.body['username'], username);
      const cookie = answer.headers.get('set-cookie') ?? '';
      assert.match(cookie, /^token=[^;]+; Path=\/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict$/);
      const claims = JSON.parse(
        Buffer.from(String(answer.body['token']).split('.')[1] ?? '', 'base64url').toString(),
      ) as {
        agent: Record<string, unknown>;
        exp: number;
      };
      assert.equal('password' in claims.agent, false);
      assert.ok(Math.abs(claims.exp - Date.now() / 1000 - 604_800) < 60);
    });

    for (const raw of [
      '',
      '{',
      '{}',
      '{"username":"x"}',
      '{"username":"x","password":"y"}',
      '{"username":5,"password":"y"}',
    ])
      it(`answers ${JSON.stringify(raw)} with a bare 400`, async () => {
        const answer = await post(raw);
        assert.deepEqual([answer.status, answer.text], [400, '']);
      });

    it('answers a wrong password with a bare 400', async () => {
      const answer = await post(JSON.stringify({ username: api.welcome.username, password: 'wrong' }));
      assert.deepEqual([answer.status, answer.text], [400, '']);
    });

    for (const [status, reason] of [
      ['expired', 'ACCOUNT_EXPIRED'],
      ['deleted', 'ACCOUNT_DELETED'],
    ] as const)
      it(`says ${reason} only to who knows the password`, async () => {
        await api.database.db('customers').update({ status });
        const { username, password } = api.welcome;
        const [right, wrong] = [
          await post(JSON.stringify({ username, password })),
          await post(JSON.stringify({ username, password: 'x' })),
        ];
        await api.database.db('customers').update({ status: 'active' });
        assert.deepEqual([right.status, reasonOf(right)], [403, reason]);
        assert.deepEqual([wrong.status, wrong.text], [400, '']);
      });
  });

  describe('the status of the account', () => {
    afterEach(() => api.database.db('customers').update({ status: 'active' }));

    for (const [status, reason] of [
      ['frozen', 'ACCOUNT_FROZEN'],
      ['expired', 'ACCOUNT_EXPIRED'],
      ['deleted', 'ACCOUNT_DELETED'],
    ] as const)
      it(`${status} is ${reason} for an accesskey and nothing for a super admin`, async () => {
        await api.database.db('customers').update({ status });
        const key = await api.request('GET', '/v1.0/flows');
        assert.deepEqual([key.status, reasonOf(key)], [403, reason]);
        assert.equal((await get(`/v1.0/flows?token=${token}`)).status, 200);
      });
  });

  describe('permission', () => {
    const setPermission = (permission: number) => api.database.db('agents').update({ permission });
    afterEach(() => setPermission(65535));
    const statusOf = async (path: string): Promise<number> => (await get(`${path}?token=${token}`)).status;

    it('counts as it is now, not as it was at login', async () => {
      await setPermission(16);
      assert.equal(reasonOf(await get(`/v1.0/flows?token=${token}`)), 'PERMISSION_DENIED');
    });

    it('lets a manager at flows and calls, not at accesskeys', async () => {
      await setPermission(64);
      assert.deepEqual([await statusOf('/v1.0/flows'), await statusOf('/v1.0/calls')], [200, 200]);
      assert.equal(await statusOf('/v1.0/accesskeys'), 403);
    });

    it('a deleted accesskey is out with the next request, although others with it are under way', async () => {
      const made = await api.request('POST', '/v1.0/accesskeys', { name: 'short-lived' });
      const credentials = { accesskey: String(made.body['token']) };
      const ask = (count: number) =>
        Promise.all(Array.from({ length: count }, () => api.request('GET', '/v1.0/tags', undefined, { credentials })));
      assert.deepEqual(new Set((await ask(10)).map(({ status }) => status)), new Set([200]));
      const underWay = ask(10);
      await api.request('DELETE', `/v1.0/accesskeys/${String(made.body['id'])}`);
      assert.deepEqual(new Set((await ask(10)).map(reasonOf)), new Set(['INVALID_CREDENTIALS']));
      await underWay;
    });

    it('a deleted agent is out at once', async () => {
      await api.database.db('agents').update({ tm_delete: '2026-01-01 00:00:00.000000' });
      const answer = await get(`/v1.0/flows?token=${token}`);
      await api.database.db('agents').update({ tm_delete: null });
      assert.equal(reasonOf(answer), 'INVALID_CREDENTIALS');
    });
  });
});

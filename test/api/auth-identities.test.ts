import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { signDelegateToken, signDirectToken, type Bound } from '../../control-api/auth/token.ts';
import { directOperation, checkBound, DIRECT_OPERATIONS } from '../../control-api/http/direct-operations.ts';
import { routes } from '../../control-api/routes.ts';
import { newId } from '#contract/ids';
import { reasonOf, apiOfTests, type Answer } from '../support/api.ts';

const facts = (answer: Answer): unknown[] => [answer.status, reasonOf(answer)];
const WIDGET_HASH = 'direct.00112233aabb';

describe('identities: login, accesskey, direct and delegate tokens', () => {
  const api = apiOfTests();
  let admin: string;
  const other = newId();
  const widget = newId();

  before(async () => {
    const { username, password } = api.welcome;
    const login = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
    admin = String(login.body['token']);
    const created = { tm_create: '2026-01-01 00:00:00.000000' };
    const { db } = api.database;
    await db('customers').insert({
      id: other,
      status: 'active',
      sip_label: 'zzzz',
      email: 'o@example.org',
      ...created,
    });
    // The record that a webchat widget leaves beside itself (accounts-and-plumbing 17).
    const direct = { resource_type: 'webchat_widget', resource_id: widget, hash: WIDGET_HASH };
    await db('directs').insert({ id: newId(), customer_id: other, ...direct, ...created });
  });

  const setStatus = (status: string) => api.database.db('customers').where({ id: other }).update({ status });
  const post = (path: string, body: unknown, token = ''): Promise<Answer> =>
    api.request('POST', path, body, { credentials: token === '' ? {} : { token } });
  const get = (path: string, token: string): Promise<Answer> =>
    api.request('GET', path, undefined, { credentials: { token } });
  const boot = (direct_hash: unknown = WIDGET_HASH): Promise<Answer> => post('/auth/boot', { direct_hash });
  const secret = async (): Promise<Uint8Array> => {
    const row = await api.database.db('settings').where({ key: 'token_secret' }).first<{ value: string }>('value');
    return new TextEncoder().encode(row.value);
  };
  const bound = (more: Partial<Bound> = {}): Bound => ({
    customer_id: other,
    resource_type: 'webchat_widget',
    resource_id: widget,
    allowed_resource_types: ['webchat_session'],
    allowed_resource_id: newId(),
    scope_version: 1,
    hash_digest: '',
    ...more,
  });

  describe('the status of the account (section 5)', () => {
    afterEach(() => setStatus('active'));
    const gate: [status: string, direct: string | undefined][] = [
      ['initial', 'DIRECT_ACCESS_NOT_SUPPORTED'],
      ['active', 'DIRECT_ACCESS_NOT_SUPPORTED'],
      ['frozen', 'ACCOUNT_FROZEN'],
      ['expired', 'ACCOUNT_EXPIRED'],
      ['deleted', 'ACCOUNT_DELETED'],
    ];
    for (const [status, reason] of gate)
      it(`${status}: a direct token hears ${reason}, a delegate token as much`, async () => {
        const direct = (await signDirectToken(await secret(), bound())).token;
        const issued = await post('/auth/delegate', { customer_id: other, reason: 'ticket 4711, as agreed' }, admin);
        await setStatus(status);
        assert.deepEqual(facts(await get('/v1.0/flows', direct)), [403, reason]);
        const allowed = status === 'initial' || status === 'active';
        const delegate = await get('/v1.0/flows', String(issued.body['token']));
        assert.deepEqual(facts(delegate), allowed ? [200, undefined] : [403, reason]);
      });

    it('a frozen account is told when it was frozen, when it is deleted and how to come back', async () => {
      const { db } = api.database;
      const frozen = { status: 'frozen', tm_deletion_scheduled: '2026-02-01 10:00:00.000000' };
      await db('customers').where({ id: other }).update(frozen);
      const answer = await get('/v1.0/flows', (await signDirectToken(await secret(), bound())).token);
      await db('customers').where({ id: other }).update({ tm_deletion_scheduled: null });
      assert.deepEqual((answer.body['error'] as { details: unknown[] }).details, [
        {
          deletion_scheduled_at: '2026-02-01 10:00:00.000000',
          deletion_effective_at: '2026-03-03 10:00:00.000000',
          recovery_endpoint: 'DELETE /auth/unregister',
        },
      ]);
    });
  });

  describe('boot (8.5)', () => {
    afterEach(() => setStatus('active'));

    it('a direct hash gives a token for one resource that does not exist yet, good for 4 hours', async () => {
      const [first, second] = [await boot(), await boot()];
      const { token, expire, allowed_resource_id, ...rest } = first.body;
      assert.deepEqual(rest, {
        type: 'direct',
        resource_type: 'webchat_widget',
        resource_id: widget,
        customer_id: other,
        allowed_resource_types: ['webchat_session'],
        scope_version: 1,
      });
      assert.notEqual(allowed_resource_id, second.body['allowed_resource_id']);
      assert.ok(Math.abs(Date.parse(String(expire)) - Date.now() - 4 * 3600_000) < 60_000);
      assert.ok(!Buffer.from(String(token).split('.')[1] ?? '', 'base64url').includes(WIDGET_HASH.slice(7)));
    });

    const wrong: [string, unknown][] = [
      ['no hash', undefined],
      ['an empty hash', ''],
      ['a hash without its prefix', WIDGET_HASH.slice(7)],
      ['an unknown hash', 'direct.ffffffffffff'],
      ['a number', 5],
    ];
    for (const [name, hash] of wrong)
      it(`${name} is a bare 400`, async () => {
        const answer = await post('/auth/boot', hash === undefined ? {} : { direct_hash: hash });
        assert.deepEqual([answer.status, answer.text], [400, '']);
      });

    it('the hash of an extension is a bare 400: phones are dialled, not booted', async () => {
      const { hash } = await api.database.db('directs').where('resource_type', 'extension').first<{ hash: string }>();
      const answer = await boot(hash);
      assert.deepEqual([answer.status, answer.text], [400, '']);
    });

    for (const status of ['initial', 'frozen', 'expired', 'deleted'])
      it(`the hash of a customer that is ${status} is a bare 400, and so is the refresh`, async () => {
        const { token } = (await boot()).body as { token: string };
        await setStatus(status);
        const answers = [await boot(), await post('/auth/boot/refresh', undefined, token)];
        assert.deepEqual(
          answers.map(answer => [answer.status, answer.text]),
          [
            [400, ''],
            [400, ''],
          ],
        );
      });

    it('a refresh gives a new token for the same resource, with any body or none', async () => {
      const first = await boot();
      for (const body of [undefined, {}]) {
        const again = await post('/auth/boot/refresh', body, String(first.body['token']));
        const { token: _token, expire: _expire, ...same } = again.body;
        const { token: _old, expire: _then, ...before } = first.body;
        assert.deepEqual(same, before);
      }
    });

    it('a refresh without a direct token that is good is a bare 401', async () => {
      const past = (await signDirectToken(await secret(), bound({ scope_version: 2 }))).token;
      for (const token of ['', 'nonsense', admin, past]) {
        const answer = await post('/auth/boot/refresh', {}, token);
        assert.deepEqual([answer.status, answer.text], [401, '']);
      }
      const key = await api.request('POST', '/auth/boot/refresh', {});
      assert.deepEqual([key.status, key.text], [401, '']);
    });

    it('a regenerated hash ends the refreshes of the old one', async () => {
      const { token } = (await boot()).body as { token: string };
      const directs = () => api.database.db('directs').where({ resource_id: widget });
      await directs().update({ hash: 'direct.445566778899' });
      const answer = await post('/auth/boot/refresh', {}, token);
      await directs().update({ hash: WIDGET_HASH });
      assert.deepEqual([answer.status, answer.text], [400, '']);
    });
  });

  describe('what a direct token may call (section 7)', () => {
    it('none of the other operations of the API, whichever it is', async () => {
      const { token } = (await signDirectToken(await secret(), bound())) as { token: string };
      const listed = new Set(DIRECT_OPERATIONS.map(({ method, path }) => `${method} ${path}`));
      const others = routes.filter(
        route =>
          route.surface === 'versioned' &&
          route.permission !== 'public' &&
          !listed.has(`${route.method} ${route.path}`),
      );
      assert.ok(others.length > 50);
      const answers = await Promise.all(
        others.map(async route => {
          const path = `/v1.0${route.path.replace(/\{\w+\}/g, newId())}`;
          const response = await fetch(`${api.url}${path}`, {
            method: route.method.toUpperCase(),
            headers: { Authorization: `Bearer ${token}` },
            ...(route.body ? { body: '{}' } : {}),
          });
          const { error } = (await response.json()) as { error: { reason: string } };
          return `${route.method} ${route.path} ${response.status} ${error.reason}`;
        }),
      );
      assert.deepEqual(
        answers.filter(answer => !answer.endsWith(' 403 DIRECT_ACCESS_NOT_SUPPORTED')),
        [],
      );
    });

    it('a token of another scope version is INVALID_CREDENTIALS', async () => {
      const { token } = await signDirectToken(await secret(), bound({ scope_version: 2 }));
      assert.deepEqual(facts(await get('/v1.0/flows', token)), [401, 'INVALID_CREDENTIALS']);
    });

    const own = bound();
    const nothing = { params: {}, query: {}, body: {} };
    const about = (place: 'params' | 'query' | 'body', name: string, id: string) => ({
      ...nothing,
      [place]: { [name]: id },
    });
    for (const operation of DIRECT_OPERATIONS) {
      const token = bound({ allowed_resource_types: [operation.child], allowed_resource_id: own.allowed_resource_id });
      const stranger = bound({ allowed_resource_types: ['something_else'] });
      it(`${operation.method} ${operation.path} is for ${operation.child} tokens`, () => {
        assert.equal(directOperation(token, operation), operation);
        assert.throws(() => directOperation(stranger, operation), { reason: 'PERMISSION_DENIED' });
      });
      const { named } = operation;
      if (named)
        it(`${operation.method} ${operation.path} finds nothing but the token's own ${named.name}`, () => {
          checkBound(operation, token, about(named.in, named.name, own.allowed_resource_id.toUpperCase()));
          assert.throws(() => checkBound(operation, token, about(named.in, named.name, newId())), {
            reason: 'RESOURCE_NOT_FOUND',
          });
          if (named.required)
            assert.throws(() => checkBound(operation, token, nothing), { reason: 'PERMISSION_DENIED' });
          else checkBound(operation, token, nothing);
        });
    }

    const socket = async (token: string, topic: string): Promise<string> => {
      const client = new WebSocket(`${api.url.replace('http', 'ws')}/v1.0/ws?token=${token}`);
      const opened = once(client, 'open').then(() => 'open', String);
      const refused = once(client, 'unexpected-response').then(
        ([, response]) => `refused ${(response as { statusCode: number }).statusCode}`,
      );
      const first = await Promise.race([opened, refused]);
      client.on('error', () => undefined);
      if (first !== 'open') return first;
      const closed = once(client, 'close').then(([code]) => `closed ${code as number}`);
      client.send(JSON.stringify({ type: 'subscribe', topics: [topic] }));
      // Messages are heard in order: whoever is still connected after a ping was not refused.
      const stays = once(client, 'pong').then(() => 'listens');
      client.ping();
      const outcome = await Promise.race([closed, stays.then(() => Promise.race([closed, settled(client)]))]);
      client.terminate();
      return outcome;
    };
    const settled = async (client: WebSocket): Promise<string> => {
      client.ping();
      await once(client, 'pong');
      return 'listens';
    };
    const child = own.allowed_resource_id;
    const topics: [string, string, string][] = [
      ['its own resource by name', `customer_id:${other}:webchat_session:${child}`, 'listens'],
      ['any resource of the type', `customer_id:${other}:webchat_session:*`, 'closed 1008'],
      ['a resource that is not its own', `customer_id:${other}:webchat_session:${newId()}`, 'closed 1008'],
      ['another type', `customer_id:${other}:call:${child}`, 'closed 1008'],
      ['three parts', `customer_id:${other}:webchat_session`, 'closed 1008'],
      ['two parts', `customer_id:${other}`, 'closed 1008'],
      ['another customer', `customer_id:${newId()}:webchat_session:${child}`, 'closed 1008'],
    ];
    for (const [name, topic, outcome] of topics)
      it(`a direct token that subscribes to ${name}: ${outcome}`, async () => {
        const { token } = await signDirectToken(await secret(), { ...own, customer_id: other });
        assert.equal(await socket(token, topic), outcome);
      });

    it('a delegate token may not listen to events', async () => {
      const { token } = (await post('/auth/delegate', { customer_id: other, reason: 'ticket 4711, again' }, admin))
        .body;
      assert.equal(await socket(String(token), `customer_id:${other}`), 'refused 401');
    });
  });

  describe('delegate tokens (8.10)', () => {
    const good = { customer_id: other, reason: 'ticket 4711, as agreed' };

    it('act as administrator of the other customer for 8 hours, and not as super admin', async () => {
      const answer = await post('/auth/delegate', good, admin);
      assert.ok(Math.abs(Date.parse(String(answer.body['expire'])) - Date.now() - 8 * 3600_000) < 60_000);
      const token = String(answer.body['token']);
      const customer = await get('/v1.0/customer', token);
      assert.deepEqual([answer.body['customer_id'], customer.body['id']], [other, other]);
      const home = await api.database.db('flows').first<{ id: string }>('id');
      assert.deepEqual(facts(await get(`/v1.0/flows/${home.id}`, token)), [404, 'FLOW_NOT_FOUND']);
    });

    const refused: [string, Record<string, unknown>, number][] = [
      ['a customer id that is no UUID', { ...good, customer_id: 'x' }, 422],
      ['no customer id', { reason: good.reason }, 422],
      ['no reason', { customer_id: other }, 422],
      ['a short reason', { ...good, reason: 'too short' }, 422],
      ['a long reason', { ...good, reason: 'x'.repeat(201) }, 422],
      ['a reason with an umlaut', { ...good, reason: 'für das Ticket 4711' }, 422],
      ['a reason with a line break', { ...good, reason: 'ticket 4711\nas agreed' }, 422],
      ['a customer nobody knows', { ...good, customer_id: newId() }, 404],
      ['a customer id that is a number', { ...good, customer_id: 5 }, 400],
    ];
    for (const [name, body, status] of refused)
      it(`${name} is a bare ${status}`, async () => {
        const answer = await post('/auth/delegate', body, admin);
        assert.deepEqual([answer.status, answer.text], [status, '']);
      });

    it('are issued to nobody but a super admin who logged in', async () => {
      const delegate = String((await post('/auth/delegate', good, admin)).body['token']);
      const direct = (await signDirectToken(await secret(), bound())).token;
      const answers = [
        await post('/auth/delegate', good, delegate),
        await post('/auth/delegate', good, direct),
        await api.request('POST', '/auth/delegate', good), // an accesskey
      ];
      assert.deepEqual(
        answers.map(answer => [answer.status, answer.text]),
        answers.map(() => [403, '']),
      );
      assert.deepEqual(facts(await post('/auth/delegate', good)), [401, 'AUTHENTICATION_REQUIRED']);
    });

    it('end with the power of whoever issued them', async () => {
      const token = String((await post('/auth/delegate', good, admin)).body['token']);
      const agents = () => api.database.db('agents').where('username', api.welcome.username);
      await agents().update({ permission: 240 });
      const answer = await get('/v1.0/flows', token);
      await agents().update({ permission: 65535 });
      assert.deepEqual(facts(answer), [401, 'INVALID_CREDENTIALS']);
    });

    it('for another audience are INVALID_CREDENTIALS', async () => {
      const claims = { sub: newId(), jti: newId(), customer_id: other, aud: 'another-api' };
      const { token } = await signDelegateToken(await secret(), claims);
      assert.deepEqual(facts(await get('/v1.0/flows', token)), [401, 'INVALID_CREDENTIALS']);
    });
  });

  describe('direct records (17)', () => {
    it('are listed beside their resources, follow a regeneration and go with a deletion', async () => {
      const made = await api.request('POST', '/v1.0/extensions', { extension: '3001', password: 'secret' });
      const id = String(made.body['id']);
      const record = async (): Promise<Record<string, unknown> | undefined> =>
        ((await api.request('GET', '/v1.0/directs')).body['result'] as Record<string, unknown>[]).find(
          each => each['resource_id'] === id,
        );
      const first = await record();
      assert.deepEqual([first?.['resource_type'], first?.['hash']], ['extension', made.body['direct_hash']]);
      const again = await api.request('POST', `/v1.0/extensions/${id}/direct-hash-regenerate`);
      const second = await record();
      assert.deepEqual([second?.['id'], second?.['hash']], [first?.['id'], again.body['direct_hash']]);
      await api.request('DELETE', `/v1.0/extensions/${id}`);
      assert.equal(await record(), undefined);
      assert.deepEqual(facts(await api.request('GET', `/v1.0/directs/${String(first?.['id'])}`)), [
        404,
        'DIRECT_NOT_FOUND',
      ]);
    });
  });
});

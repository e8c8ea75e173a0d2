import { strict as assert } from 'node:assert';
import { z } from 'zod';
import type { Route } from '../../control-api/http/route.ts';
import { routes } from '../../control-api/routes.ts';
import { reasonOf, apiOfTests, type Answer } from '../support/api.ts';

/** The name of a query parameter that takes any text, of a route that has one. */
const textFilter = ({ query }: Route): string | undefined =>
  Object.entries(query?.shape ?? {}).find(
    ([name, type]) => name !== 'page_token' && z.safeParse(type, 'any text').success,
  )?.[0];

describe('conventions of the API', () => {
  const api = apiOfTests();

  const nowhere = '7d0ec9ac-3ba8-4b9d-9c3b-0a4b3f6f0a11';

  describe('request ids', () => {
    it('a well-formed X-Request-Id comes back in the header and in the envelope', async () => {
      const answer = await api.request('GET', '/v1.0/nothing', undefined, { headers: { 'X-Request-Id': 'my-Id_1' } });
      assert.equal(answer.headers.get('x-request-id'), 'my-Id_1');
      assert.equal((answer.body['error'] as Record<string, unknown>)['request_id'], 'my-Id_1');
    });

    for (const bad of ['has space', 'a'.repeat(65), 'semi;colon'])
      it(`replaces ${JSON.stringify(bad.slice(0, 12))} by one of its own`, async () => {
        const answer = await api.request('GET', '/ping', undefined, { headers: { 'X-Request-Id': bad } });
        assert.match(answer.headers.get('x-request-id') ?? '', /^req_[a-z2-7]{26}$/);
      });
  });

  describe('cross-origin requests', () => {
    it('a preflight needs no credentials and may be remembered for 12 hours', async () => {
      const answer = await api.request('OPTIONS', '/v1.0/calls', undefined, { credentials: {} });
      assert.equal(answer.status, 204);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      assert.equal(answer.headers.get('access-control-max-age'), '43200');
      assert.match(answer.headers.get('access-control-allow-headers') ?? '', /Authorization/);
    });

    const headers: [name: string, value: string][] = [
      ['access-control-allow-origin', '*'],
      ['access-control-allow-methods', 'POST, GET, PUT, DELETE, PATCH, HEAD, OPTIONS'],
      ['access-control-max-age', '43200'],
    ];
    for (const [name, value] of headers)
      it(`a preflight of any path, known or not, answers ${name}: ${value}`, async () => {
        for (const path of ['/v1.0/calls', '/v1.0/nothing', '/auth/login', '/ping'])
          assert.equal((await api.request('OPTIONS', path, undefined, { credentials: {} })).headers.get(name), value);
      });

    it('a preflight allows the five headers of the specification, and no credentials', async () => {
      const answer = await api.request('OPTIONS', '/v1.0/calls', undefined, { credentials: {} });
      const allowed = (answer.headers.get('access-control-allow-headers') ?? '').split(', ');
      for (const name of ['Origin', 'X-Requested-With', 'Content-Type', 'Accept', 'Authorization'])
        assert.ok(allowed.includes(name), name);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    });

    it('errors carry the origin header too', async () => {
      const answer = await api.request('GET', '/v1.0/nothing');
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    });
  });

  describe('paths', () => {
    const unknown: [string, string][] = [
      ['GET', '/v1.0/nothing'],
      ['PATCH', '/v1.0/flows'],
      ['DELETE', '/v1.0/calls'],
      ['POST', '/v1.0/auth/login'],
      ['GET', '/elsewhere'],
    ];
    for (const [method, path] of unknown)
      it(`${method} ${path} is ROUTE_NOT_FOUND, never 405`, async () => {
        const answer = await api.request(method, path, method === 'POST' ? {} : undefined, { credentials: {} });
        assert.equal(answer.status, 404);
        assert.equal(reasonOf(answer), 'ROUTE_NOT_FOUND');
      });

    it('a path below /v1.0/auth points to the path without the version', async () => {
      const answer = await api.request('POST', '/v1.0/auth/login', {});
      assert.match(String((answer.body['error'] as Record<string, unknown>)['message']), /\/auth\/login/);
    });

    it('an address that speaks WebSocket says so to whoever opens it without', async () => {
      for (const path of ['/v1.0/ws', '/v1.0/service_agents/ws']) {
        const answer = await api.request('GET', path);
        assert.match(String((answer.body['error'] as Record<string, unknown>)['message']), /wss:\/\//);
      }
    });

    for (const path of ['flows', 'extensions', 'numbers', 'calls', 'groupcalls', 'activeflows', 'accesskeys']) {
      it(`an id of ${path} that is no UUID is INVALID_ID`, async () => {
        const answer = await api.request('GET', `/v1.0/${path}/17`);
        assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_ID']);
      });

      it(`an unknown id of ${path} has its own not-found reason`, async () => {
        const answer = await api.request('GET', `/v1.0/${path}/${nowhere}`);
        assert.deepEqual([answer.status, reasonOf(answer)], [404, `${path.slice(0, -1).toUpperCase()}_NOT_FOUND`]);
      });
    }
  });

  describe('bodies', () => {
    const cases: [name: string, raw: string, reason: string][] = [
      ['no JSON', '{"name":', 'INVALID_JSON_BODY'],
      ['nothing', '', 'INVALID_JSON_BODY'],
      ['a list instead of an object', '[]', 'INVALID_JSON_BODY'],
      ['a number where text is expected', '{"name": 5}', 'INVALID_JSON_BODY'],
      ['an object where a list is expected', '{"actions": {}}', 'INVALID_JSON_BODY'],
      ['an action whose option is text', '{"actions": [{"type":"talk","option":"x"}]}', 'INVALID_JSON_BODY'],
      ['text that is too long', JSON.stringify({ name: 'x'.repeat(256) }), 'INVALID_ARGUMENT'],
      ['a reference that is no UUID', '{"on_complete_flow_id": "17"}', 'INVALID_ARGUMENT'],
      ['a NUL', '{"name": "a\\u0000b"}', 'INVALID_ARGUMENT'],
      ['half a surrogate pair', '{"name": "\\ud800"}', 'INVALID_ARGUMENT'],
      ['lists nested a thousand times', '['.repeat(1000) + ']'.repeat(1000), 'INVALID_ARGUMENT'],
      ['more than a megabyte', JSON.stringify({ name: 'x'.repeat(1_100_000) }), 'INVALID_ARGUMENT'],
      ['an unknown action type', '{"actions": [{"type":"agent_call"}]}', 'INVALID_ACTION_TYPE'],
      [
        'a connect that is anonymous maybe',
        '{"actions": [{"type":"connect","option":{"anonymous":"maybe"}}]}',
        'INVALID_ANONYMOUS_VALUE',
      ],
    ];
    for (const [name, raw, reason] of cases)
      it(`${name} is ${reason}`, async () => {
        const answer = await api.request('POST', '/v1.0/flows', undefined, { raw });
        assert.deepEqual([answer.status, reasonOf(answer)], [400, reason], answer.text);
      });

    it('a broken rule is named with its field', async () => {
      const answer = await api.request('POST', '/v1.0/extensions', { extension: '-x', password: 'secret' });
      assert.match(String((answer.body['error'] as Record<string, unknown>)['message']), /^extension: /);
    });

    it('unknown fields are ignored', async () => {
      const answer = await api.request('POST', '/v1.0/flows', { name: 'x', colour: 'red' });
      assert.equal(answer.status, 200);
    });
  });

  describe('pages', () => {
    before(async () => {
      for (let n = 0; n < 5; n++) await api.request('POST', '/v1.0/extensions', { extension: `20${n}`, password: 'p' });
    });
    const names = (answer: Answer): unknown[] =>
      (answer.body['result'] as Record<string, unknown>[]).map(each => each['extension']);

    it('walks every row once, newest first, and ends with an empty token', async () => {
      const seen: unknown[] = [];
      let token = '';
      for (let pages = 0; pages < 10; pages++) {
        const query = `page_size=2&page_token=${encodeURIComponent(token)}`;
        const answer = await api.request('GET', `/v1.0/extensions?${query}`);
        seen.push(...names(answer));
        token = String(answer.body['next_page_token']);
        if (token === '') break;
        assert.match(token, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      }
      assert.deepEqual(seen, ['204', '203', '202', '201', '200', '1002', '1001']);
    });

    it('gives no token when the last row ends the page', async () => {
      const answer = await api.request('GET', '/v1.0/extensions?page_size=7');
      assert.equal(names(answer).length, 7);
      assert.equal(answer.body['next_page_token'], '');
    });

    for (const size of ['0', '-3', '101', '1000000'])
      it(`takes page_size ${size} for 100`, async () => {
        const answer = await api.request('GET', `/v1.0/extensions?page_size=${size}`);
        assert.equal(names(answer).length, 7);
      });

    for (const query of ['page_size=ten', 'page_size=1.5', 'page_token=yesterday'])
      it(`refuses ${query}`, async () => {
        const answer = await api.request('GET', `/v1.0/extensions?${query}`);
        assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_REQUEST_PARAMETER']);
      });

    it('reads a token in the form of tm_create too', async () => {
      const rows = (await api.request('GET', '/v1.0/extensions')).body['result'] as Record<string, unknown>[];
      const token = encodeURIComponent(String(rows[5]?.['tm_create']));
      assert.deepEqual(names(await api.request('GET', `/v1.0/extensions?page_token=${token}`)), ['1001']);
    });
  });

  describe('every operation', function () {
    this.timeout(20_000);
    const versioned = routes.filter(route => route.surface === 'versioned' && route.permission !== 'public');
    const nameOf = ({ method, path }: Route): string => `${method.toUpperCase()} ${path}`;
    /** Super admins pass every permission but that of agents' own surface, which the same agent passes too. */
    let token: string;
    before(async () => {
      const { username, password } = api.welcome;
      const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
      token = String(answer.body['token']);
    });
    const pathOf = ({ path }: Route, id = nowhere): string =>
      `/v1.0${path.replace('{resource_type}', 'calls').replace(/\{\w+\}/g, id)}`;
    const ask = ({ method }: Route, path: string, raw?: string): Promise<Answer> =>
      api.request(method.toUpperCase(), path, undefined, {
        credentials: { token },
        ...(raw === undefined ? {} : { raw }),
      });
    const all = async (chosen: Route[], expected: [number, string], send: (route: Route) => Promise<Answer>) => {
      assert.ok(chosen.length > 0);
      const seen = await Promise.all(chosen.map(async route => ({ route, answer: await send(route) })));
      const wrong = seen.filter(({ answer }) => answer.status !== expected[0] || reasonOf(answer) !== expected[1]);
      assert.deepEqual(
        wrong.map(({ route, answer }) => `${nameOf(route)}: ${answer.text.slice(0, 120)}`),
        [],
      );
    };
    const upgrades = (route: Route): boolean => route.status === 101;

    it('takes a path id that is no UUID for INVALID_ID', () =>
      all(
        versioned.filter(route => /_?id\}/.test(route.path) && !upgrades(route)),
        [400, 'INVALID_ID'],
        route => ask(route, pathOf(route, '17'), route.body ? '{}' : undefined),
      ));

    for (const raw of ['', '{', '[]', '17', 'null'])
      it(`takes ${raw || 'an empty body'} for INVALID_JSON_BODY where it wants an object`, () =>
        all(
          versioned.filter(route => route.body),
          [400, 'INVALID_JSON_BODY'],
          route => ask(route, pathOf(route), raw),
        ));

    const lists = versioned.filter(route => route.method === 'get' && route.query && 'page_size' in route.query.shape);
    for (const wrong of ['page_size=ten', 'page_size=1.5', 'page_size=', 'page_token=yesterday', 'page_token=a%00b'])
      it(`that lists refuses ${wrong}`, () =>
        all(
          lists.filter(route => wrong.split('=')[0] !== 'page_token' || 'page_token' in (route.query?.shape ?? {})),
          [400, 'INVALID_REQUEST_PARAMETER'],
          route => ask(route, `${pathOf(route)}?${wrong}`),
        ));

    it('refuses a NUL in any query parameter that is text', () =>
      all(
        versioned.filter(route => textFilter(route) !== undefined),
        [400, 'INVALID_REQUEST_PARAMETER'],
        route => ask(route, `${pathOf(route)}?${textFilter(route) ?? ''}=a%00b`),
      ));

    it('that lists nothing answers an empty list and an empty token', async () => {
      for (const path of ['recordings', 'groupcalls', 'conferences', 'trunks', 'webhook_deliveries']) {
        const { body } = await api.request('GET', `/v1.0/${path}`);
        assert.deepEqual(body, { result: [], next_page_token: '' });
      }
    });
  });

  describe('probes and documentation', () => {
    it('ping answers without credentials', async () => {
      assert.equal((await api.request('GET', '/ping', undefined, { credentials: {} })).status, 200);
    });

    it('health names what is down: here no media-app runs', async () => {
      const answer = await api.request('GET', '/health', undefined, { credentials: {} });
      assert.equal(answer.status, 503);
      const parts = answer.body['parts'] as Record<string, { state: string }>;
      const states = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.state]));
      const media = { media_app: 'down', sip_server: 'down', media_server: 'down' };
      assert.deepEqual(states, { postgres: 'ok', redis: 'ok', ...media });
    });

    it('serves the same document with and without the version prefix', async () => {
      const [root, versioned] = [
        await api.request('GET', '/openapi.json', undefined, { credentials: {} }),
        await api.request('GET', '/v1.0/openapi.json', undefined, { credentials: {} }),
      ];
      assert.equal(root.body['openapi'], '3.1.0');
      assert.deepEqual(root.body, versioned.body);
    });

    it('the documentation page loads nothing from elsewhere, and may not', async () => {
      const page = await api.request('GET', '/docs', undefined, { credentials: {} });
      assert.equal(page.status, 200);
      assert.doesNotMatch(page.text, /(src|href)="(https?:)?\/\//);
      assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
      for (const [, file] of page.text.matchAll(/(?:src|href)="([^"]+)"/g))
        assert.equal((await api.request('GET', file ?? '', undefined, { credentials: {} })).status, 200, file);
    });
  });
});

import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { newId } from '#contract/ids';
import { CustomerLimit } from '../../control-api/http/customer-limit.ts';
import { startTestApi, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { testRedis } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

type Json = Record<string, unknown>;
const errorOf = (answer: Answer): Json => (answer.body['error'] ?? {}) as Json;

/** Slow enough that nothing fills up while a test runs. */
const SLOW = { per_second: 0.01, burst: 3 };

describe('rate limits', () => {
  let api: TestApi;
  let visitors = 0;
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi({
      TRUST_PROXY: '127.0.0.1',
      RATE_AUTH: '0.01/2',
      RATE_AUTH_PROTECTED: '0.01/2',
      RATE_ADDRESS: '0.01/6',
      RATE_CUSTOMER: '0.01/4',
    });
  });
  after(() => api.stop());

  const forget = async (): Promise<void> => {
    const redis = new Redis(api.redisUrl);
    const found = await redis.keys('tl:limit:*');
    if (found.length > 0) await redis.del(found);
    redis.disconnect();
  };
  beforeEach(forget);

  /** A client at an address of its own. */
  const visitor = () => {
    const address = `198.51.100.${++visitors}`;
    return (method: string, path: string, body?: unknown, options: ApiRequest = {}): Promise<Answer> =>
      api.request(method, path, body, { ...options, headers: { 'X-Forwarded-For': address, ...options.headers } });
  };
  const statuses = async (count: number, ask: () => Promise<Answer>): Promise<number[]> => {
    const seen: number[] = [];
    for (let n = 0; n < count; n++) seen.push((await ask()).status);
    return seen;
  };
  const login = { username: 'x', password: 'y' };
  const nobody = { credentials: {} };

  it('an address that logs in too fast is told when to come again, with envelope and header', async () => {
    const ask = visitor();
    assert.deepEqual(await statuses(2, () => ask('POST', '/auth/login', login, nobody)), [400, 400]);
    const answer = await ask('POST', '/auth/login', login, nobody);
    const { reason, status, details, request_id } = errorOf(answer);
    assert.deepEqual([answer.status, reason, status], [429, 'RATE_LIMIT_EXCEEDED', 'RESOURCE_EXHAUSTED']);
    assert.deepEqual(details, [{ limited_by: 'ip' }]);
    assert.equal(request_id, answer.headers.get('x-request-id'));
    const wait = Number(answer.headers.get('retry-after'));
    assert.ok(Number.isInteger(wait) && wait > 1 && wait <= 100, `Retry-After ${wait}`);
  });

  it('all of /auth shares one bucket, except unregister and delegate, which have another', async () => {
    const ask = visitor();
    await statuses(2, () => ask('POST', '/auth/nothing', {}, nobody));
    assert.equal((await ask('POST', '/auth/login', login, nobody)).status, 429);
    assert.notEqual((await ask('POST', '/auth/unregister', {}, nobody)).status, 429);
    assert.notEqual((await ask('POST', '/auth/delegate', {}, nobody)).status, 429);
    assert.equal((await ask('DELETE', '/auth/unregister', undefined, nobody)).status, 429);
    assert.notEqual((await ask('GET', '/v1.0/flows')).status, 429);
  });

  it('an address over its limit is told so before its credential is looked at, on unknown paths too', async () => {
    const ask = visitor();
    assert.deepEqual(await statuses(6, () => ask('GET', '/v1.0/flows', undefined, nobody)), Array(6).fill(401));
    assert.equal((await ask('GET', '/v1.0/flows', undefined, nobody)).status, 429);
    assert.equal((await ask('GET', '/v1.0/nothing')).status, 429);
    assert.equal((await visitor()('GET', '/v1.0/flows')).status, 200);
  });

  it('probes and preflights are never limited', async () => {
    const ask = visitor();
    await statuses(7, () => ask('GET', '/v1.0/nothing'));
    assert.equal((await ask('GET', '/ping', undefined, nobody)).status, 200);
    assert.equal((await ask('OPTIONS', '/v1.0/flows', undefined, nobody)).status, 204);
  });

  it('agents and accesskeys of a customer share one bucket, wherever they ask from', async () => {
    const answer = await visitor()(
      'POST',
      '/auth/login',
      { username: api.welcome.username, password: api.welcome.password },
      nobody,
    );
    const token = String(answer.body['token']);
    await statuses(2, () => visitor()('GET', '/v1.0/flows'));
    await statuses(2, () => visitor()('GET', '/v1.0/flows', undefined, { credentials: { token } }));
    const [key, agent] = [
      await visitor()('GET', '/v1.0/flows'),
      await visitor()('GET', '/v1.0/flows', undefined, { credentials: { token } }),
    ];
    for (const over of [key, agent]) {
      assert.equal(over.status, 429);
      assert.deepEqual(errorOf(over)['details'], [{ limited_by: 'customer' }]);
      assert.ok(Number(over.headers.get('retry-after')) >= 1);
    }
  });

  it('a customer over its limit is told so before the status of its account and before its body is read', async () => {
    await statuses(4, () => visitor()('GET', '/v1.0/flows'));
    await api.database.db('customers').update({ status: 'frozen' });
    const answer = await visitor()('POST', '/v1.0/flows', undefined, { raw: '{' });
    await api.database.db('customers').update({ status: 'active' });
    assert.equal(answer.status, 429);
  });

  it('a wrong credential counts against nobody', async () => {
    const wrong = { credentials: { accesskey: 'tk_wrong' } };
    assert.deepEqual(await statuses(6, () => visitor()('GET', '/v1.0/flows', undefined, wrong)), Array(6).fill(401));
    assert.equal((await visitor()('GET', '/v1.0/flows')).status, 200);
  });

  it('a WebSocket counts as one request, and is refused before the upgrade with the same answer', async () => {
    const url = `${api.url.replace('http', 'ws')}/v1.0/ws?accesskey=${api.welcome.accesskey}`;
    const headers = { 'X-Forwarded-For': '203.0.113.1', 'X-Request-Id': 'ws-1' };
    for (let n = 0; n < 4; n++) {
      const socket = new WebSocket(url, { headers });
      await once(socket, 'open');
      socket.terminate();
    }
    const socket = new WebSocket(url, { headers });
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    let body = '';
    for await (const chunk of response) body += String(chunk);
    const { error } = JSON.parse(body) as { error: Json };
    assert.deepEqual([response.statusCode, error['reason'], error['request_id']], [429, 'RATE_LIMIT_EXCEEDED', 'ws-1']);
    assert.equal(response.headers['x-request-id'], 'ws-1');
    assert.ok(Number(response.headers['retry-after']) >= 1);
  });
});

describe('the limit of a customer', () => {
  const log = pino({ level: 'silent' });
  let url: string;
  let redis: Redis;
  before(async () => {
    url = (await testRedis()).url;
    redis = new Redis(url);
  });
  after(() => redis.disconnect());

  it('is one for all control-apis, and never lets more through than the burst, however many ask at once', async () => {
    const second = new Redis(url);
    const [one, other] = [new CustomerLimit(redis, log), new CustomerLimit(second, log)];
    const customer = newId();
    const rate = { per_second: 0.1, burst: 20 };
    const asked = Array.from({ length: 100 }, (_, n) => (n % 2 ? one : other).take('customer', customer, rate));
    const waits = await Promise.all(asked);
    second.disconnect();
    assert.equal(waits.filter(wait => wait === 0).length, 20);
  });

  it('asks Redis once for all requests of a moment, and tells those that are too many how long to wait', async () => {
    const limit = new CustomerLimit(redis, log);
    const customer = newId();
    const source = new Redis(url);
    const monitor = await source.monitor();
    const commands: string[] = [];
    monitor.on('monitor', (_time: string, given: string[]) => {
      if (given[0] === 'eval' && given.some(argument => argument.includes(customer))) commands.push(given.join(' '));
    });
    const waits = await Promise.all(Array.from({ length: 5 }, () => limit.take('customer', customer, SLOW)));
    await eventually(
      'the command',
      () => commands.length,
      count => count > 0,
    );
    monitor.disconnect();
    source.disconnect();
    assert.deepEqual(
      waits.map(wait => wait > 0),
      [false, false, false, true, true],
    );
    assert.equal(commands.length, 1);
  });

  it('keeps fractions: 16.7 a second are let through at 59.9 ms each', async () => {
    const limit = new CustomerLimit(redis, log);
    const customer = newId();
    const rate = { per_second: 16.7, burst: 1 };
    assert.equal(await limit.take('customer', customer, rate), 0);
    const wait = await limit.take('customer', customer, rate);
    assert.ok(wait > 0 && wait <= 0.0599, `${wait} s`);
  });

  it('is another for each tier, and leaves nothing behind once it is full', async () => {
    const limit = new CustomerLimit(redis, log);
    const customer = newId();
    for (let n = 0; n < 4; n++) await limit.take('customer', customer, SLOW);
    assert.equal(await limit.take('direct', customer, SLOW), 0);
    const left = await redis.pttl(`tl:limit:customer:${customer}`);
    assert.ok(left > 0 && left <= 300_000, `${left} ms`);
  });

  for (const [what, server] of [
    ['is away', undefined],
    ['does not answer', createServer(() => undefined)],
  ] as [string, Server | undefined][])
    it(`lets everybody through at once while Redis ${what}`, async () => {
      if (server) await once(server.listen(0, '127.0.0.1'), 'listening');
      const port = server ? (server.address() as AddressInfo).port : 1;
      const gone = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 2 });
      gone.on('error', () => undefined);
      const warnings: Json[] = [];
      const write = (line: string): unknown => warnings.push(JSON.parse(line) as Json);
      const limit = new CustomerLimit(gone, pino({ level: 'warn' }, { write }));
      const began = performance.now();
      const waits = [await limit.take('customer', newId(), SLOW), await limit.take('customer', newId(), SLOW)];
      assert.deepEqual(waits, [0, 0]);
      assert.ok(performance.now() - began < 1000);
      assert.equal(warnings.length, 1);
      gone.disconnect();
      server?.close();
    });
});

import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TrunklineClient, type ClientOptions } from '../../../client/client.ts';
import { TrunklineError } from '../../../client/error.ts';

type Reply = (response: ServerResponse) => void;

const refusal =
  (status: number, reason: string, headers: Record<string, string> = {}): Reply =>
  response =>
    void response
      .writeHead(status, { 'Content-Type': 'application/json', ...headers })
      .end(
        JSON.stringify({ error: { status: 'X', reason, message: 'No.', request_id: 'req_1', details: [{ a: 1 }] } }),
      );
const done: Reply = response => void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"id":"1"}');
const cut: Reply = response => void response.socket?.destroy();

describe('the client of the API', () => {
  let server: Server;
  let asked: IncomingMessage[] = [];
  let replies: Reply[] = [];

  before(async () => {
    server = createServer((request, response) => {
      asked.push(request);
      request.resume().on('end', () => (replies.shift() ?? done)(response));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => (asked = []));
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const client = (...given: Reply[]): TrunklineClient => withOptions({}, given);
  const withOptions = (options: Partial<ClientOptions>, given: Reply[]): TrunklineClient => {
    replies = given;
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new TrunklineClient({ base_url, accesskey: 'tk_1', ...options });
  };
  const keys = () => asked.map(request => request.headers['idempotency-key']);
  const rejected = async (promise: Promise<unknown>): Promise<TrunklineError> => {
    const error: unknown = await promise.then(() => 'an answer').catch((reason: unknown) => reason);
    assert.ok(error instanceof TrunklineError, String(error));
    return error;
  };

  for (const [what, reply] of [
    ['a connection that broke', cut],
    ['429 with Retry-After', refusal(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '0' })],
    ['503', refusal(503, 'SERVICE_UNAVAILABLE')],
    ['503 of a proxy', (response: ServerResponse) => void response.writeHead(503).end('<html>')],
  ] as [string, Reply][])
    it(`sends a creation again after ${what}, under the same key`, async () => {
      await client(reply).call('create_flow', { body: { name: 'x' } });
      const [first, second, ...more] = keys();
      assert.match(String(first), /^[\w-]{36}$/);
      assert.deepEqual([second, more], [first, []]);
    });

  it('keeps to a key that it is given, and takes another one for the next creation', async () => {
    const asking = client();
    await asking.call('create_flow', { body: { name: 'x' }, idempotency_key: 'mine' });
    for (let n = 0; n < 2; n++) await asking.call('create_flow', { body: { name: 'x' } });
    assert.equal(keys()[0], 'mine');
    assert.equal(new Set(keys()).size, 3);
  });

  it('waits as long as Retry-After says', async () => {
    const began = performance.now();
    await client(refusal(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '1' })).call('get_customer');
    assert.ok(performance.now() - began > 950);
    assert.equal(asked.length, 2);
  });

  for (const [what, reply, status, reason] of [
    [
      'a wait longer than it may take',
      refusal(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '31' }),
      429,
      'RATE_LIMIT_EXCEEDED',
    ],
    [
      'a ceiling, which waiting does not raise',
      refusal(429, 'RESOURCE_LIMIT_EXCEEDED'),
      429,
      'RESOURCE_LIMIT_EXCEEDED',
    ],
    ['a refusal', refusal(409, 'STATE_INVALID'), 409, 'STATE_INVALID'],
    ['a failure of the platform', refusal(500, 'INTERNAL'), 500, 'INTERNAL'],
  ] as [string, Reply, number, string][])
    it(`does not try again after ${what}`, async () => {
      const error = await rejected(client(reply).call('create_flow', { body: { name: 'x' } }));
      assert.deepEqual([error.status, error.reason, error.request_id], [status, reason, 'req_1']);
      assert.deepEqual([error.message, error.details, asked.length], ['No.', [{ a: 1 }], 1]);
    });

  it('gives up after so many tries, with what the last one said', async () => {
    const asking = withOptions(
      { retries: 2, most_wait_ms: 5 },
      Array(3).fill(refusal(503, 'SERVICE_UNAVAILABLE')) as Reply[],
    );
    const error = await rejected(asking.call('get_customer'));
    assert.deepEqual([error.reason, asked.length], ['SERVICE_UNAVAILABLE', 3]);
  });

  it('sends an order that takes no key once only', async () => {
    const error = await rejected(client(refusal(503, 'X')).call('login', { body: { username: 'a', password: 'b' } }));
    assert.deepEqual([error.status, asked.length, keys()], [503, 1, [undefined]]);
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const waiting = client(refusal(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '20' })).call('get_customer', {
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(waiting, { name: 'AbortError' });
  });

  it('spells paths and queries so that nothing in them is read as something else', async () => {
    await client().call('get_tag', { params: { id: 'a/../b?c' } });
    await client().call('list_calls', { query: { status: 'hangup', flow_id: 'a&b=c' } });
    assert.deepEqual(
      asked.map(request => request.url),
      ['/v1.0/tags/a%2F..%2Fb%3Fc?accesskey=tk_1', '/v1.0/calls?accesskey=tk_1&status=hangup&flow_id=a%26b%3Dc'],
    );
  });
});

// What does not compile, and would if the types said nothing.
export const wrong = async (client: TrunklineClient): Promise<void> => {
  // @ts-expect-error -- there is no such operation
  await client.call('list_unicorns');
  // @ts-expect-error -- the id is missing
  await client.call('get_call');
  // @ts-expect-error -- no status of a call
  await client.call('list_calls', { query: { status: 'sleeping' } });
  // @ts-expect-error -- a name is text
  await client.call('create_flow', { body: { name: 5 } });
  // @ts-expect-error -- no field of a call
  void (await client.call('get_call', { params: { id: '' } })).colour;
  // @ts-expect-error -- one record has no pages
  client.all('get_call', { params: { id: '' } });
};

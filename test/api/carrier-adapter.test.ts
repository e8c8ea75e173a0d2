import { strict as assert } from 'node:assert';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTestApi, type Answer, type TestApi } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';

type Json = Record<string, unknown>;
const told = (answer: Answer): unknown[] => [answer.status, (answer.body['error'] as Json | undefined)?.['reason']];

/** A carrier as docs/carriers.md describes it: sells numbers, makes connections, knows two keys. */
class FakeCarrier {
  readonly sold = new Map<string, string>();
  readonly connections = new Set<string>();
  readonly asked: string[] = [];
  /** Answers everything with this status while set. */
  failing = 0;
  /** The hostname of the connections it makes. */
  hostname = 'sip.fake.example';
  readonly #server: Server = createServer((request, response) => {
    void this.#answer(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage): Promise<[number, unknown]> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Json;
    const what = `${request.method} ${request.url}`;
    this.asked.push(what);
    if (this.failing) return [this.failing, {}];
    if (!['Bearer ours', 'Bearer theirs'].includes(request.headers.authorization ?? '')) return [401, {}];
    return this.#serve(what, body);
  }

  #serve(what: string, body: Json): [number, unknown] {
    const [, id = ''] = /^DELETE .*\/([^/]+)$/.exec(what) ?? [];
    if (what.startsWith('GET /v1/numbers/available?country_code=de&limit=2'))
      return [
        200,
        { numbers: [{ number: '+493055500001', country: 'de', region: 'Berlin' }, { number: '+493055500002' }] },
      ];
    if (what === 'POST /v1/numbers') {
      this.sold.set(String(body['number']), `ref-${String(body['number'])}`);
      return [200, { reference: `ref-${String(body['number'])}` }];
    }
    if (what.startsWith('DELETE /v1/numbers/')) {
      for (const [number, reference] of this.sold) if (reference === decodeURIComponent(id)) this.sold.delete(number);
      return [204, {}];
    }
    if (what === 'POST /v1/connections') {
      this.connections.add('c-1');
      return [200, { reference: 'c-1', hostname: this.hostname, username: 'u', password: 'p' }];
    }
    if (what === 'DELETE /v1/connections/c-1') return [this.connections.delete('c-1') ? 200 : 404, {}];
    return [404, {}];
  }
}

describe('a carrier adapter', () => {
  const carrier = new FakeCarrier();
  let api: TestApi;
  let operator: { token: string };
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi({ CARRIER: await carrier.start(), CARRIER_API_KEY: 'ours' });
    const { username, password } = api.welcome;
    const login = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
    operator = { token: String(login.body['token']) };
    await api.database.db('customers').where({ home: true }).update({ identity_verification_status: 'verified' });
  });
  after(async () => {
    await api.stop();
    await carrier.stop();
  });
  afterEach(() => (carrier.failing = 0));

  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    api.request(method, `/v1.0${path}`, body);
  const setUp = (key: string): Promise<Answer> => {
    const body = { carrier: 'http', name: 'Fake', credentials: { api_key: key } };
    return api.request('POST', '/v1.0/providers/setup', body, { credentials: operator });
  };

  it('offers numbers of a country', async () => {
    const { body } = await ask('GET', '/available_numbers?country_code=DE&page_size=2');
    assert.deepEqual(body['result'], [
      { number: '+493055500001', country: 'de', region: 'Berlin', postal_code: '', features: ['voice'] },
      { number: '+493055500002', country: '', region: '', postal_code: '', features: ['voice'] },
    ]);
  });

  it('sells a number, which is given back when it is deleted, however often the carrier must be asked', async () => {
    const bought = await ask('POST', '/numbers', { number: '+493055500001' });
    assert.equal(bought.status, 200, bought.text);
    const { type, status, tm_purchase, tm_renew, tm_create, id } = bought.body;
    assert.deepEqual([type, status, tm_purchase, tm_renew], ['normal', 'active', tm_create, tm_create]);
    assert.doesNotMatch(bought.text, /ref-/);
    assert.deepEqual([...carrier.sold.keys()], ['+493055500001']);
    carrier.failing = 500;
    assert.equal((await ask('DELETE', `/numbers/${String(id)}`)).body['status'], 'deleted');
    await eventually(
      'the first attempt',
      () => carrier.asked.at(-1),
      last => last?.startsWith('DELETE') === true,
    );
    carrier.failing = 0;
    const other = await ask('POST', '/numbers', { number: '+493055500002' });
    await ask('DELETE', `/numbers/${String(other.body['id'])}`); // its release takes the one before along
    await eventually(
      'nothing sold',
      () => carrier.sold.size,
      size => size === 0,
    );
  });

  for (const [title, failing] of [
    ['is away', 500],
    ['does not take our key', 401],
  ] as const)
    it(`that ${title} sells nothing: 503, and nobody owns the number`, async () => {
      carrier.failing = failing;
      assert.deepEqual(told(await ask('POST', '/numbers', { number: '+493055500009' })), [503, 'SERVICE_UNAVAILABLE']);
      assert.equal(await api.database.db('numbers').where('number', '+493055500009').first(), undefined);
      const offers = await ask('GET', '/available_numbers?country_code=de');
      assert.deepEqual(told(offers), [503, 'SERVICE_UNAVAILABLE']);
    });

  it('sets a provider up: the connection it makes becomes a provider that registers, and the key is kept nowhere', async () => {
    const answer = await setUp('theirs');
    assert.equal(answer.status, 200, answer.text);
    const { hostname, username, register, metadata } = answer.body;
    const noted = { carrier: 'http', connection: 'c-1' };
    assert.deepEqual([hostname, username, register, metadata], ['sip.fake.example', 'u', true, noted]);
    assert.doesNotMatch(JSON.stringify(await api.database.db('providers').select('*')), /theirs/);
  });

  it('that does not take the key is CARRIER_CREDENTIALS_REJECTED', async () => {
    assert.deepEqual(told(await setUp('wrong')), [400, 'CARRIER_CREDENTIALS_REJECTED']);
  });

  it('takes the connection back when no provider comes of it', async () => {
    carrier.hostname = 'not a host';
    const rows = await api.database.db('providers').count({ n: '*' });
    assert.deepEqual(told(await setUp('theirs')), [503, 'SERVICE_UNAVAILABLE']);
    assert.deepEqual([...carrier.connections], []);
    assert.deepEqual(await api.database.db('providers').count({ n: '*' }), rows);
  });

  it('manual lets super admins alone enter normal numbers', async function () {
    this.timeout(30_000);
    const other = await startTestApi({ CARRIER: 'manual' });
    await other.database.db('customers').where({ home: true }).update({ identity_verification_status: 'verified' });
    const { username, password } = other.welcome;
    const { body } = await other.request('POST', '/auth/login', { username, password }, { credentials: {} });
    const number = { number: '+493055500003' };
    assert.deepEqual(told(await other.request('POST', '/v1.0/numbers', number)), [403, 'PERMISSION_DENIED']);
    const credentials = { token: String(body['token']) };
    const made = await other.request('POST', '/v1.0/numbers', number, { credentials });
    assert.deepEqual([made.status, made.body['type']], [200, 'normal']);
    await other.stop();
  });
});

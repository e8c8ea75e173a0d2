import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { startTestApi, reasonOf, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';
import { eventually } from './events-rig.ts';

type Json = Record<string, unknown>;
const limitOf = (answer: Answer): unknown =>
  ((answer.body['error'] as Json | undefined)?.['details'] as Json[] | undefined)?.[0]?.['limited_by'];

/** What can be wrong with a request, each found at a step of its own (accounts-and-plumbing 1.1). */
interface Faults {
  address_over?: true;
  credential?: 'none' | 'wrong' | 'agent';
  customer_over?: true;
  account?: 'frozen' | 'expired' | 'deleted';
  path?: string;
  raw?: string;
}

describe('the order in which a request is looked at', () => {
  let api: TestApi;
  let visitors = 0;
  before(async function () {
    this.timeout(60_000);
    const limits = {
      RATE_ADDRESS: '0.01/2',
      RATE_CUSTOMER: '0.01/2',
      RATE_AUTH: '0.01/2',
      RATE_AUTH_PROTECTED: '0.01/2',
    };
    api = await startTestApi({ TRUST_PROXY: '127.0.0.1', ...limits });
  });
  after(() => api.stop());

  /** A client at an address of its own. */
  const visitor = () => {
    const address = `203.0.113.${++visitors}`;
    return (method: string, path: string, options: ApiRequest & { body?: unknown } = {}): Promise<Answer> =>
      api.request(method, path, options.body, {
        ...options,
        headers: { 'X-Forwarded-For': address, ...options.headers },
      });
  };
  const credentialsOf = async (customer: string, { credential }: Faults): Promise<ApiRequest['credentials']> => {
    if (credential === 'none') return {};
    if (credential === 'wrong') return { accesskey: 'tk_wrong' };
    if (credential === undefined) return { accesskey: await addAccesskey(api, customer) };
    const { username, password } = await addAgent(api, customer, 16);
    const answer = await visitor()('POST', '/auth/login', { body: { username, password }, credentials: {} });
    return { token: String(answer.body['token']) };
  };
  const send = async (faults: Faults): Promise<Answer> => {
    const customer = await addCustomer(api);
    const credentials = await credentialsOf(customer, faults);
    const key = { accesskey: await addAccesskey(api, customer) };
    const waste = async (ask: ReturnType<typeof visitor>, given: ApiRequest): Promise<void> => {
      for (let n = 0; n < 2; n++) await ask('GET', '/v1.0/flows', given);
    };
    const ask = visitor();
    if (faults.customer_over) await waste(visitor(), { credentials: key });
    if (faults.address_over) await waste(ask, { credentials: {} });
    if (faults.account) await api.database.db('customers').where('id', customer).update({ status: faults.account });
    const { path = '/v1.0/flows', raw } = faults;
    const given = { credentials: credentials ?? {}, headers: { 'X-Request-Id': 'mine' }, ...(raw ? { raw } : {}) };
    return ask(raw === undefined ? 'GET' : 'PUT', path, given);
  };

  const unknownFlow = `/v1.0/flows/${newId()}`;
  const rows: [first: string, faults: Faults, reason: string, limited_by?: string][] = [
    ['the address', { address_over: true, credential: 'none', path: '/v1.0/flows/17' }, 'RATE_LIMIT_EXCEEDED', 'ip'],
    ['the address', { address_over: true, credential: 'wrong' }, 'RATE_LIMIT_EXCEEDED', 'ip'],
    ['the address', { address_over: true, path: '/v1.0/nothing' }, 'RATE_LIMIT_EXCEEDED', 'ip'],
    ['the credential', { credential: 'none', path: '/v1.0/flows/17', raw: '{' }, 'AUTHENTICATION_REQUIRED'],
    [
      'the credential',
      { credential: 'wrong', customer_over: true, raw: '{', path: unknownFlow },
      'INVALID_CREDENTIALS',
    ],
    ['the customer', { customer_over: true, account: 'frozen' }, 'RATE_LIMIT_EXCEEDED', 'customer'],
    ['the customer', { customer_over: true, path: '/v1.0/flows/17', raw: '{' }, 'RATE_LIMIT_EXCEEDED', 'customer'],
    ['the account', { account: 'frozen', path: '/v1.0/flows/17', raw: '{' }, 'ACCOUNT_FROZEN'],
    ['the account', { account: 'expired', path: '/v1.0/flows?page_size=x' }, 'ACCOUNT_EXPIRED'],
    ['the account', { account: 'deleted', credential: 'agent' }, 'ACCOUNT_DELETED'],
    ['the path parameter', { path: '/v1.0/flows/17', raw: '{' }, 'INVALID_ID'],
    ['the path parameter', { credential: 'agent', path: '/v1.0/flows/17', raw: '{}' }, 'INVALID_ID'],
    ['the query', { credential: 'agent', path: '/v1.0/flows?page_size=x' }, 'INVALID_REQUEST_PARAMETER'],
    ['the body', { credential: 'agent', path: unknownFlow, raw: '{' }, 'INVALID_JSON_BODY'],
    ['the record', { credential: 'agent', path: unknownFlow, raw: '{}' }, 'FLOW_NOT_FOUND'],
    ['the permission', { credential: 'agent' }, 'PERMISSION_DENIED'],
  ];
  for (const [first, faults, reason, limited_by] of rows)
    it(`${first} is what ${JSON.stringify(faults).replace(unknownFlow, '/v1.0/flows/{unknown}')} fails at`, async () => {
      const answer = await send(faults);
      assert.deepEqual([reasonOf(answer), limitOf(answer)], [reason, limited_by], answer.text);
      assert.equal(answer.headers.get('x-request-id'), 'mine');
      assert.equal((answer.body['error'] as Json)['request_id'], 'mine');
    });

  it('/auth counts the address before the body is looked at, and /ping counts nothing', async () => {
    const ask = visitor();
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await ask('POST', '/auth/login', { raw: '{', credentials: {} })).status);
    assert.deepEqual(statuses, [400, 400, 429]);
    for (let n = 0; n < 5; n++) assert.equal((await ask('GET', '/ping', { credentials: {} })).status, 200);
  });

  it('/auth/delegate counts its own bucket, then asks for a credential, then for the account', async () => {
    const ask = visitor();
    const customer = await addCustomer(api);
    const { username, password } = await addAgent(api, customer, 65535);
    const token = await tokenOf(
      { ...api, request: (method, path, body) => ask(method, path, { body, credentials: {} }) },
      username,
      password,
    );
    const nobody = await ask('POST', '/auth/delegate', { raw: '{', credentials: {} });
    const plain = await ask('POST', '/auth/delegate', { raw: '{', credentials: { token } });
    const over = await ask('POST', '/auth/delegate', { raw: '{', credentials: {} });
    assert.deepEqual([nobody.status, plain.status, over.status], [401, 400, 429]);
  });
});

describe('one request id', () => {
  it('is in the log line, the header and the envelope of a refusal; and in the event and webhook of what was done', async function () {
    this.timeout(60_000);
    const lines: Json[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as Json) });
    const hooks: { id: unknown; event: Json }[] = [];
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', chunk => (body += String(chunk)));
      request.on('end', () => {
        hooks.push({ id: request.headers['x-request-id'], event: JSON.parse(body) as Json });
        response.end();
      });
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const api = await startTestApi({}, log);
    try {
      const webhook_uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      await api.request('PUT', '/v1.0/customer', { webhook_uri, webhook_method: 'POST' });
      const ask = (body: unknown, id: string): Promise<Answer> =>
        api.request('POST', '/v1.0/tags', body, { headers: { 'X-Request-Id': id } });
      const logged = async (id: string): Promise<Json> => {
        const line = (): Json | undefined => lines.find(each => each['request_id'] === id);
        await eventually(`a line of ${id}`, () => line() !== undefined);
        return line() ?? {};
      };

      const refused = await ask({ name: 5 }, 'refused-1');
      assert.equal(refused.headers.get('x-request-id'), 'refused-1');
      assert.equal((refused.body['error'] as Json)['request_id'], 'refused-1');
      const { status, reason, msg, customer_id } = await logged('refused-1');
      assert.deepEqual([status, reason, msg], [400, 'INVALID_JSON_BODY', 'POST /v1.0/tags']);
      assert.equal(customer_id, api.welcome.customer_id);

      const done = await ask({ name: 'seen', detail: '' }, 'done-1');
      assert.equal(done.headers.get('x-request-id'), 'done-1');
      assert.equal((await logged('done-1'))['status'], 200, done.text);
      const events = (await api.database.db('events').where('request_id', 'done-1')) as Json[];
      assert.deepEqual(
        events.map(each => [each['event_type'], each['resource_id']]),
        [['tag_created', done.body['id']]],
      );
      await eventually('the webhook', () => hooks.some(({ id }) => id === 'done-1'));
      assert.equal(hooks.find(({ id }) => id === 'done-1')?.event['id'], events[0]?.['id']);
    } finally {
      await api.stop();
      receiver.closeAllConnections();
      receiver.close();
    }
  });
});

import { strict as assert } from 'node:assert';
import { TrunklineClient } from '../../client/client.ts';
import { TrunklineError } from '../../client/error.ts';
import { apiOfTests } from '../support/api.ts';

describe('the typed client against the API', () => {
  const api = apiOfTests();
  let client: TrunklineClient;

  before(async () => {
    client = new TrunklineClient({ base_url: api.url, accesskey: api.welcome.accesskey });
  });

  it('creates, reads, changes and deletes', async () => {
    const made = await client.call('create_tag', { body: { name: 'gold', detail: 'VIP' } });
    const params = { id: made.id };
    assert.equal((await client.call('update_tag', { params, body: { name: 'silver' } })).name, 'silver');
    const { name, detail } = await client.call('get_tag', { params });
    assert.deepEqual([name, detail], ['silver', 'VIP']);
    await client.call('delete_tag', { params });
  });

  it('turns every page of a list', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await client.call('create_flow', { body: { name: `page ${name}` } });
    const found: string[] = [];
    for await (const flow of client.all('list_flows', { query: { page_size: 2 } })) found.push(flow.name);
    assert.deepEqual(
      found.filter(name => name.startsWith('page ')),
      names.map(name => `page ${name}`).reverse(),
    );
  });

  it('creates once, though the answer was lost on the way', async () => {
    let sent = 0;
    const lossy: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      if ((sent += 1) > 1) return response;
      await response.arrayBuffer();
      throw new TypeError('fetch failed');
    };
    const options = { base_url: api.url, accesskey: api.welcome.accesskey, fetch: lossy };
    const made = await new TrunklineClient(options).call('create_flow', { body: { name: 'once' } });
    const rows = (await api.database.db('flows').where({ name: 'once' })) as { id: string }[];
    assert.deepEqual([sent, rows.map(row => row.id)], [2, [made.id]]);
  });

  it('logs in and asks with the token', async () => {
    const anonymous = new TrunklineClient({ base_url: api.url });
    const { username, password } = api.welcome;
    const { token } = await anonymous.call('login', { body: { username, password } });
    const me = await new TrunklineClient({ base_url: api.url, token }).call('get_me');
    assert.equal(me.username, username);
  });

  it('tells why it was refused', async () => {
    const id = '11111111-1111-4111-8111-111111111111';
    const error: unknown = await client.call('get_call', { params: { id } }).catch((reason: unknown) => reason);
    assert.ok(error instanceof TrunklineError);
    assert.deepEqual([error.status, error.reason], [404, 'CALL_NOT_FOUND']);
    assert.match(error.request_id, /^req_/);
    const nobody = new TrunklineClient({ base_url: api.url });
    await assert.rejects(nobody.call('list_calls'), { status: 401, reason: 'AUTHENTICATION_REQUIRED' });
  });
});

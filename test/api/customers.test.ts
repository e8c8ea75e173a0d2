import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAgent, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;
const told = (answer: Answer): [number, unknown] => [answer.status, reasonOf(answer)];

describe('customers, as super admins see to them', () => {
  const api = apiOfTests();
  let credentials: { token: string };
  before(async () => {
    const { username, password } = await addAgent(api, api.welcome.customer_id, 1);
    credentials = { token: await tokenOf(api, username, password) };
  });

  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    api.request(method, `/v1.0/customers${path}`, body, { credentials });
  const body = (): Json => ({ name: 'Bakery', detail: '', email: `${newId()}@example.com` });
  const open = async (): Promise<Json> => {
    const answer = await ask('POST', '', body());
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const eventsOf = async (id: unknown): Promise<string[]> => {
    const events = api.database.db('events').where('resource_id', String(id)).orderBy('sequence');
    return (await events.select<{ event_type: string }[]>('event_type')).map(event => event.event_type);
  };

  it('are opened active and verified, with an admin, an outbound config, a storage account and a letter', async () => {
    const customer = await open();
    const customer_id = String(customer['id']);
    assert.deepEqual([customer['status'], customer['email_verified']], ['active', true]);
    assert.equal('webhook_secret' in customer, false);
    for (const table of ['agents', 'outbound_configs', 'storage_accounts'])
      assert.equal((await api.database.db(table).where({ customer_id })).length, 1, table);
    const letters = await api.database.db('mails').where({ customer_id }).select<{ kind: string }[]>('kind');
    assert.deepEqual(letters, [{ kind: 'welcome' }]);
    assert.deepEqual((await ask('GET', `/${customer_id}`)).body, customer);
    const listed = (await ask('GET', '')).body['result'] as Json[];
    assert.deepEqual(listed[0], customer);
    const twice = await ask('POST', '', { ...body(), email: customer['email'] });
    assert.deepEqual(told(twice), [409, 'ALREADY_EXISTS']);
  });

  it('change what is given and keep the rest', async () => {
    const customer = await open();
    const path = `/${String(customer['id'])}`;
    const changed = (await ask('PUT', path, { name: 'Bakers', webhook_uri: 'https://example.com/hook' })).body;
    const { name, webhook_uri, email } = changed;
    assert.deepEqual([name, webhook_uri, email], ['Bakers', 'https://example.com/hook', customer['email']]);
    assert.deepEqual(told(await ask('PUT', path, { webhook_method: 'SEND' })), [400, 'INVALID_WEBHOOK_METHOD']);
    assert.deepEqual(told(await ask('PUT', path, { email: (await open())['email'] })), [409, 'ALREADY_EXISTS']);
    assert.deepEqual((await ask('PUT', `${path}/metadata`, { rtp_debug: true })).body['metadata'], { rtp_debug: true });
  });

  it('pay with the account of theirs that is chosen for them, and with nobody else’s', async () => {
    const [customer, other] = [await open(), await open()];
    const path = `/${String(customer['id'])}/billing_account_id`;
    const account = { id: newId(), customer_id: customer['id'], tm_create: timestamp() };
    await api.database.db('billing_accounts').insert(account);
    const chosen = await ask('PUT', path, { billing_account_id: account.id });
    assert.deepEqual([chosen.status, chosen.body['billing_account_id']], [200, account.id]);
    assert.deepEqual(await eventsOf(customer['id']), ['customer_created', 'customer_updated']);
    const foreign = await ask('PUT', path, { billing_account_id: other['billing_account_id'] });
    assert.deepEqual(told(foreign), [404, 'BILLING_ACCOUNT_NOT_FOUND']);
    assert.deepEqual(told(await ask('PUT', path, {})), [400, 'INVALID_ARGUMENT']);
    const nobody = await ask('PUT', `/${newId()}/billing_account_id`, { billing_account_id: account.id });
    assert.deepEqual(told(nobody), [404, 'CUSTOMER_NOT_FOUND']);
    assert.deepEqual((await ask('GET', `/${String(customer['id'])}`)).body, chosen.body);
  });

  it('have their identity verified, and are told', async () => {
    const { id } = await open();
    const path = `/${String(id)}/identity_verification_status`;
    const verified = await ask('PUT', path, { identity_verification_status: 'verified' });
    assert.equal(verified.body['identity_verification_status'], 'verified');
    assert.equal((await eventsOf(id)).at(-1), 'customer_identity_verification_updated');
    assert.deepEqual(told(await ask('PUT', path, { identity_verification_status: 'seen' })), [400, 'INVALID_ARGUMENT']);
  });

  it('are frozen, recovered and deleted, and deleting twice is no error', async () => {
    const { id, email } = await open();
    const path = `/${String(id)}`;
    assert.equal((await ask('POST', `${path}/freeze`)).body['status'], 'frozen');
    assert.equal((await ask('POST', `${path}/recover`)).body['status'], 'active');
    assert.deepEqual(told(await ask('POST', `${path}/recover`)), [409, 'STATE_INVALID']);
    const gone = await ask('DELETE', path);
    assert.equal(gone.body['status'], 'deleted');
    assert.notEqual(gone.body['email'], email);
    assert.deepEqual((await ask('DELETE', path)).body, gone.body);
    assert.deepEqual(told(await ask('PUT', path, { name: 'x' })), [404, 'CUSTOMER_NOT_FOUND']);
    const listed = (await ask('GET', '')).body['result'] as Json[];
    assert.ok(!listed.some(customer => customer['id'] === id));
    const expected = ['customer_created', 'customer_frozen', 'customer_recovered', 'customer_deleted'];
    assert.deepEqual(await eventsOf(id), expected);
  });

  it('the one that runs the installation is neither frozen nor deleted', async () => {
    const path = `/${api.welcome.customer_id}`;
    assert.deepEqual(told(await ask('DELETE', path)), [409, 'STATE_INVALID']);
    assert.deepEqual(told(await ask('POST', `${path}/freeze`)), [409, 'STATE_INVALID']);
    assert.equal((await ask('GET', path)).body['status'], 'active');
  });

  it('have one storage account each, seen by themselves and made anew by super admins only', async () => {
    const at = (method: string, path: string, given?: unknown) =>
      api.request(method, `/v1.0${path}`, given, { credentials });
    const own = (await api.request('GET', '/v1.0/storage_account')).body;
    assert.deepEqual([own['total_file_count'], own['customer_id']], [0, api.welcome.customer_id]);
    const customer_id = String((await open())['id']);
    const create = () => at('POST', '/storage_accounts', { customer_id });
    assert.deepEqual(told(await create()), [409, 'ALREADY_EXISTS']);
    const list = (await at('GET', '/storage_accounts')).body['result'] as Json[];
    const { id } = list.find(account => account['customer_id'] === customer_id) ?? {};
    const theirs = await api.request('GET', `/v1.0/storage-accounts/${String(id)}`);
    assert.deepEqual(told(theirs), [404, 'ACCOUNT_NOT_FOUND']);
    assert.equal((await at('DELETE', `/storage-accounts/${String(id)}`)).status, 200);
    assert.equal((await create()).body['customer_id'], customer_id);
    const nobody = await at('POST', '/storage_accounts', { customer_id: newId() });
    assert.deepEqual(told(nobody), [404, 'CUSTOMER_NOT_FOUND']);
  });
});

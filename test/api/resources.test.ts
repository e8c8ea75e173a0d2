import { strict as assert } from 'node:assert';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import { reasonOf, apiOfTests } from '../support/api.ts';

type Json = Record<string, unknown>;

describe('stored resources', () => {
  const api = apiOfTests();

  const create = async (path: string, body: Json): Promise<Json> => {
    const answer = await api.request('POST', `/v1.0${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const lastEvent = async (): Promise<Json> =>
    (await api.database.db('events').orderBy('sequence', 'desc').first()) as Json;

  describe('flows', () => {
    it('are stored as written, with ids for actions that have none', async () => {
      const id = newId();
      const flow = await create('/flows', {
        name: 'Menu',
        actions: [
          { type: 'talk', option: { text: 'Hallo', odd: [1, { a: null }] } },
          { id, type: 'hangup' },
        ],
      });
      const actions = flow['actions'] as Json[];
      assert.deepEqual(actions[0]?.['option'], { text: 'Hallo', odd: [1, { a: null }] });
      assert.notEqual(actions[0]?.['id'], EMPTY_ID);
      assert.equal(actions[1]?.['id'], id);
      assert.deepEqual([flow['type'], flow['tm_update'], flow['tm_delete']], ['flow', null, null]);
      assert.deepEqual((await api.request('GET', `/v1.0/flows/${String(flow['id'])}`)).body, flow);
      assert.equal((await lastEvent())['event_type'], 'flow_created');
    });

    it('keep what a change leaves out, except the on-complete flow', async () => {
      const after = await create('/flows', { name: 'After' });
      const flow = await create('/flows', { name: 'A', detail: 'B', on_complete_flow_id: after['id'] });
      const changed = await api.request('PUT', `/v1.0/flows/${String(flow['id'])}`, { name: 'C' });
      const { name, detail, on_complete_flow_id, tm_update } = changed.body;
      assert.deepEqual([name, detail, on_complete_flow_id], ['C', 'B', EMPTY_ID]);
      assert.match(String(tm_update), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/);
      assert.equal((await lastEvent())['event_type'], 'flow_updated');
    });

    it('name an on-complete flow that exists', async () => {
      const answer = await api.request('POST', '/v1.0/flows', { name: 'A', on_complete_flow_id: newId() });
      assert.deepEqual([answer.status, reasonOf(answer)], [404, 'FLOW_NOT_FOUND']);
    });

    it('leave lists and reads when deleted, and the numbers that named them', async () => {
      const flow = await create('/flows', { name: 'Gone' });
      const path = `/v1.0/flows/${String(flow['id'])}`;
      const number = await create('/numbers', { number: '+899123456701', call_flow_id: flow['id'] });
      const gone = await api.request('DELETE', path);
      assert.notEqual(gone.body['tm_delete'], null);
      assert.equal(reasonOf(await api.request('GET', path)), 'FLOW_NOT_FOUND');
      assert.equal(reasonOf(await api.request('DELETE', path)), 'FLOW_NOT_FOUND');
      const now = await api.request('GET', `/v1.0/numbers/${String(number['id'])}`);
      assert.equal(now.body['call_flow_id'], EMPTY_ID);
      assert.equal((await lastEvent())['event_type'], 'number_updated');
    });

    it('are at most ten thousand that were not deleted, flows of calls not counted', async () => {
      const fill = `insert into flows select r.* from flows f, generate_series(1, ?::int) n,
        jsonb_populate_record(f, jsonb_build_object('id', gen_random_uuid(), 'persistent', ?::boolean, 'direct_hash', '', 'n', n)) r where f.id = ?`;
      const [{ id }, { count }] = [
        await create('/flows', { name: 'One of many' }),
        (await api.database.db('flows').where({ persistent: true }).whereNull('tm_delete').count().first()) as Json,
      ];
      await api.database.db.raw(fill, [100, false, String(id)]);
      await api.database.db.raw(fill, [9_999 - Number(count), true, String(id)]);
      await create('/flows', { name: 'The last one' });
      const refused = await api.request('POST', '/v1.0/flows', { name: 'One too many' });
      assert.deepEqual([refused.status, reasonOf(refused)], [429, 'RESOURCE_LIMIT_EXCEEDED'], refused.text);
      assert.equal((await api.request('DELETE', `/v1.0/flows/${String(id)}`)).status, 200);
      await create('/flows', { name: 'In its place' });
      await api.database.db('flows').where({ name: 'One of many' }).delete();
    });
  });

  describe('extensions', () => {
    it('get their domain from the account and show unset times as empty text', async () => {
      const extension = await create('/extensions', { extension: '2001', password: 'geheim Wort' });
      const { username, domain_name, direct_hash, tm_update, tm_delete, password } = extension;
      assert.deepEqual([username, tm_update, tm_delete, password], ['2001', '', '', 'geheim Wort']);
      assert.match(String(domain_name), /^[0-9a-z]{4}\.reg\.trunkline\.localhost$/);
      assert.match(String(direct_hash), /^direct\.[0-9a-f]{12}$/);
    });

    it('never tell their password in events', async () => {
      await create('/extensions', { extension: '2002', password: 'quite secret' });
      const event = await lastEvent();
      assert.equal(event['event_type'], 'extension_created');
      assert.equal('password' in (event['data'] as Json), false);
      assert.doesNotMatch(JSON.stringify(event), /quite secret/);
    });

    it('exist once, until deleted', async () => {
      const first = await create('/extensions', { extension: '2003', password: 'p' });
      const twin = await api.request('POST', '/v1.0/extensions', { extension: '2003', password: 'q' });
      assert.deepEqual([twin.status, reasonOf(twin)], [409, 'ALREADY_EXISTS']);
      await api.request('DELETE', `/v1.0/extensions/${String(first['id'])}`);
      await create('/extensions', { extension: '2003', password: 'q' });
    });

    it('change name, detail and password; their number never', async () => {
      const { id } = await create('/extensions', { extension: '2004', password: 'p', name: 'Hall' });
      const changed = await api.request('PUT', `/v1.0/extensions/${String(id)}`, { password: 'new', extension: '9' });
      const { password, extension, name } = changed.body;
      assert.deepEqual([password, extension, name], ['new', '2004', 'Hall']);
    });

    for (const spelling of ['direct-hash-regenerate', 'direct_hash_regenerate'])
      it(`get a new direct hash by ${spelling}`, async () => {
        const [one] = api.welcome.extensions;
        const before = await api.request('GET', `/v1.0/extensions/${one?.id}`);
        const after = await api.request('POST', `/v1.0/extensions/${one?.id}/${spelling}`);
        assert.equal(after.status, 200);
        assert.notEqual(after.body['direct_hash'], before.body['direct_hash']);
      });

    for (const body of [
      { extension: 'a b', password: 'p' },
      { extension: 'x'.repeat(65), password: 'p' },
      { extension: '.x', password: 'p' },
      { extension: '2005', password: '' },
      { extension: '2005', password: 'a\r\nb' },
      { extension: '2005' },
      { password: 'p' },
    ])
      it(`refuse ${JSON.stringify(body).slice(0, 50)}`, async () => {
        const answer = await api.request('POST', '/v1.0/extensions', body);
        assert.deepEqual([answer.status, reasonOf(answer)], [400, 'INVALID_ARGUMENT']);
      });
  });

  describe('numbers', () => {
    it('virtual ones are had at once and are marked by their prefix', async () => {
      const number = await create('/numbers', { number: '+899123456789' });
      const { type, status, call_flow_id, tm_purchase } = number;
      assert.deepEqual([type, status, call_flow_id, tm_purchase], ['virtual', 'active', EMPTY_ID, NEVER]);
      const twin = await api.request('POST', '/v1.0/numbers', { number: '+899123456789' });
      assert.equal(reasonOf(twin), 'ALREADY_EXISTS');
    });

    const refused: [Json, number, string][] = [
      [{ number: '+899000123456' }, 400, 'INVALID_ARGUMENT'],
      [{ number: '+89912345678' }, 400, 'INVALID_ARGUMENT'],
      [{ number: '+899123456780', type: 'normal' }, 400, 'INVALID_ARGUMENT'],
      [{ number: '+4930123456', type: 'virtual' }, 400, 'INVALID_ARGUMENT'],
      [{ number: '030 123456' }, 400, 'INVALID_ARGUMENT'],
      [{ number: '+4930123456' }, 403, 'IDENTITY_VERIFICATION_REQUIRED'],
      [{ number: '+899123456780', call_flow_id: '3f0c6a64-6c2f-4f5c-8a53-6a1a0b6c1d22' }, 404, 'FLOW_NOT_FOUND'],
    ];
    for (const [body, status, reason] of refused)
      it(`${JSON.stringify(body).slice(0, 60)} is ${reason}`, async () => {
        const answer = await api.request('POST', '/v1.0/numbers', body);
        assert.deepEqual([answer.status, reasonOf(answer)], [status, reason]);
      });

    it('change their flows alone', async () => {
      const { id } = await create('/numbers', { number: '+899123456790', name: 'Desk' });
      const changed = await api.request('PUT', `/v1.0/numbers/${String(id)}/flow_ids`, {
        call_flow_id: api.welcome.flow_id,
      });
      assert.deepEqual([changed.body['call_flow_id'], changed.body['name']], [api.welcome.flow_id, 'Desk']);
    });

    it('that are available are free, and listing needs a country unless they are virtual', async () => {
      const virtual = await api.request('GET', '/v1.0/available_numbers?type=virtual&page_size=20');
      const listed = virtual.body['result'] as Json[];
      assert.equal(listed.length, 20);
      for (const each of listed) assert.match(String(each['number']), /^\+899(?!000)\d{9}$/);
      await create('/numbers', { number: listed[0]?.['number'] });
      assert.equal(reasonOf(await api.request('GET', '/v1.0/available_numbers')), 'INVALID_ARGUMENT');
      assert.deepEqual((await api.request('GET', '/v1.0/available_numbers?country_code=DE')).body, { result: [] });
    });
  });

  describe('the account', () => {
    it('has switches of its own', async () => {
      const changed = await api.request('PUT', '/v1.0/customer/metadata', { rtp_debug: true });
      assert.deepEqual(changed.body['metadata'], { rtp_debug: true });
      assert.deepEqual((await api.request('GET', '/v1.0/customer')).body, changed.body);
      assert.equal((await lastEvent())['event_type'], 'customer_updated');
      const refused = await api.request('PUT', '/v1.0/customer/metadata', { rtp_debug: 'yes' });
      assert.equal(reasonOf(refused), 'INVALID_JSON_BODY');
    });

    it('changes its webhook and keeps the rest; the secret is shown to its people and told in no event', async () => {
      const before = await api.request('GET', '/v1.0/customer');
      const change = { webhook_uri: 'https://example.org/hook', webhook_method: 'POST' };
      const after = await api.request('PUT', '/v1.0/customer', change);
      assert.equal(after.status, 200, after.text);
      const { tm_update, ...rest } = after.body;
      assert.deepEqual(rest, { ...rest, ...change, name: before.body['name'], email: before.body['email'] });
      assert.notEqual(tm_update, NEVER);
      assert.match(String(after.body['webhook_secret']), /^[A-Za-z0-9_-]{32}$/);
      const event = await lastEvent();
      assert.equal(event['event_type'], 'customer_updated');
      assert.equal('webhook_secret' in (event['data'] as Json), false);
    });

    const refused: [Json, string][] = [
      [{ webhook_uri: 'ftp://example.org' }, 'INVALID_WEBHOOK_URI'],
      [{ webhook_uri: 'nowhere' }, 'INVALID_WEBHOOK_URI'],
      [{ webhook_method: 'PATCH' }, 'INVALID_WEBHOOK_METHOD'],
      [{ webhook_method: 5 }, 'INVALID_WEBHOOK_METHOD'],
      [{ email: 'nobody' }, 'INVALID_ARGUMENT'],
    ];
    for (const [body, reason] of refused)
      it(`${JSON.stringify(body)} is ${reason}`, async () => {
        const answer = await api.request('PUT', '/v1.0/customer', body);
        assert.deepEqual([answer.status, reasonOf(answer)], [400, reason]);
      });
  });

  describe('other accounts', () => {
    let theirs: string;
    before(async () => {
      theirs = newId();
      const customer_id = newId();
      const tm_create = timestamp();
      await api.database.db('customers').insert({ id: customer_id, status: 'active', sip_label: 'zzzz', tm_create });
      const row = { id: theirs, customer_id, name: 'Theirs', detail: '', actions: '[]', tm_create };
      await api.database.db('flows').insert(row);
    });

    it('have flows that are not found by ours, whatever is tried', async () => {
      for (const [method, body] of [['GET'], ['PUT', { name: 'x' }], ['DELETE']] as [string, Json?][])
        assert.equal(reasonOf(await api.request(method, `/v1.0/flows/${theirs}`, body)), 'FLOW_NOT_FOUND');
      const number = await api.request('POST', '/v1.0/numbers', { number: '+899123456799', call_flow_id: theirs });
      assert.equal(reasonOf(number), 'FLOW_NOT_FOUND');
    });

    it('are reached by id, not in lists, by a super admin', async () => {
      const { username, password } = api.welcome;
      const login = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
      const credentials = { token: String(login.body['token']) };
      const one = await api.request('GET', `/v1.0/flows/${theirs}`, undefined, { credentials });
      assert.equal(one.body['name'], 'Theirs');
      const list = await api.request('GET', '/v1.0/flows', undefined, { credentials });
      const ids = (list.body['result'] as Json[]).map(each => each['id']);
      assert.equal(ids.includes(theirs), false);
    });
  });
});

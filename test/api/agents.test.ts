import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;

describe('agents and tags', () => {
  const api = apiOfTests();
  let superToken: string;
  before(async () => {
    superToken = await tokenOf(api, api.welcome.username, api.welcome.password);
  });

  let made = 0;
  const agentBody = (more: Json = {}): Json => ({
    username: `agent${++made}@example.com`,
    password: 'geheim',
    name: 'Ada',
    detail: '',
    ring_method: 'ringall',
    permission: 16,
    tag_ids: [],
    addresses: [],
    ...more,
  });
  const create = async (path: string, body: Json): Promise<Json> => {
    const answer = await api.request('POST', `/v1.0${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  /** An agent of the home customer that no test of creation is about. */
  const stored = async (tagIds: string[] = []): Promise<Json> => {
    const { id } = await addAgent(api, api.welcome.customer_id, 16, { tag_ids: JSON.stringify(tagIds) });
    return (await api.request('GET', `/v1.0/agents/${id}`)).body;
  };
  const put = (id: unknown, field: string, body: Json, options = {}): Promise<Answer> =>
    api.request('PUT', `/v1.0/agents/${String(id)}${field && `/${field}`}`, body, options);
  const lastEvent = async (): Promise<Json> =>
    (await api.database.db('events').orderBy('sequence', 'desc').first()) as Json;

  it('an agent is shown without its password, offline, with a direct hash, and can log in', async () => {
    const body = agentBody({ tag_ids: [newId()] });
    const agent = await create('/agents', body);
    assert.equal('password' in agent, false);
    assert.deepEqual([agent['status'], agent['tag_ids'], agent['permission']], ['offline', body['tag_ids'], 16]);
    assert.match(String(agent['direct_hash']), /^direct\.[0-9a-f]{12}$/);
    const event = await lastEvent();
    assert.deepEqual([event['event_type'], event['data']], ['agent_created', agent]);
    const token = await tokenOf(api, String(body['username']), 'geheim');
    const me = await api.request('GET', '/v1.0/me', undefined, { credentials: { token } });
    assert.deepEqual(me.body, agent);
  });

  const refused: [name: string, body: Json, status: number, reason: string][] = [
    ['a user name that is no e-mail address', { username: 'ada' }, 400, 'INVALID_USERNAME_FORMAT'],
    ['an empty password', { password: '' }, 400, 'INVALID_ARGUMENT'],
    ['a password of 73 bytes', { password: 'x'.repeat(73) }, 400, 'INVALID_ARGUMENT'],
    ['an unknown ring method', { ring_method: 'random' }, 400, 'INVALID_RING_METHOD'],
    ['a permission that is none', { permission: 17 }, 400, 'INVALID_ARGUMENT'],
    ['an address of type email', { addresses: [{ type: 'email', target: 'a@b.c' }] }, 400, 'INVALID_ARGUMENT'],
    ['an empty address', { addresses: [{ type: 'tel', target: '' }] }, 400, 'INVALID_ARGUMENT'],
    ['an extension that is not there', { addresses: [{ type: 'extension', target: '9' }] }, 400, 'INVALID_ARGUMENT'],
    ['a missing tag list', { tag_ids: undefined }, 400, 'INVALID_ARGUMENT'],
    ['a project permission from an accesskey', { permission: 1 }, 403, 'PERMISSION_DENIED'],
  ];
  for (const [name, body, status, reason] of refused)
    it(`refuses ${name} with ${reason}`, async () => {
      const count = () => api.database.db('agents').count('* as n').first();
      const before = await count();
      const answer = await api.request('POST', '/v1.0/agents', agentBody(body));
      assert.deepEqual([answer.status, reasonOf(answer)], [status, reason], answer.text);
      assert.deepEqual(await count(), before);
    });

  it('a user name is taken in every customer and in any case, until its agent is deleted', async () => {
    const other = await addCustomer(api);
    const taken = await addAgent(api, other, 16);
    const body = agentBody({ username: taken.username.toUpperCase() });
    const answer = await api.request('POST', '/v1.0/agents', body);
    assert.deepEqual([answer.status, reasonOf(answer)], [409, 'AGENT_ALREADY_EXISTS']);
    await api.request('DELETE', `/v1.0/agents/${taken.id}`, undefined, { credentials: { token: superToken } });
    assert.equal((await api.request('POST', '/v1.0/agents', body)).status, 200);
  });

  it('an extension is an address by its number or its id, and belongs to one agent until that one lets go', async () => {
    const { id } = api.welcome.extensions[0] ?? assert.fail();
    const first = await create('/agents', agentBody({ addresses: [{ type: 'extension', target: id }] }));
    const [address] = first['addresses'] as Json[];
    assert.deepEqual([address?.['target'], address?.['target_name']], ['1001', '1001']);
    const wanted = { addresses: [{ type: 'extension', target: '1001' }] };
    const second = await stored();
    const conflict = await put(second['id'], 'addresses', wanted);
    assert.deepEqual([conflict.status, reasonOf(conflict)], [409, 'ADDRESS_ALREADY_ASSIGNED']);
    assert.deepEqual((await api.request('GET', `/v1.0/agents/${String(second['id'])}`)).body, second);
    await api.request('DELETE', `/v1.0/agents/${String(first['id'])}`);
    assert.equal((await put(second['id'], 'addresses', wanted)).status, 200);
    assert.equal((await put(second['id'], 'addresses', { addresses: [] })).status, 200);
  });

  it('telephone numbers of agents are stored with digits only, and not twice', async () => {
    const agent = await create('/agents', agentBody({ addresses: [{ type: 'tel', target: '+49 (30) 1' }] }));
    assert.equal((agent['addresses'] as Json[])[0]?.['target'], '+49301');
    const twice = [
      { type: 'tel', target: '+1 5' },
      { type: 'tel', target: '+15' },
    ];
    assert.equal(reasonOf(await put(agent['id'], 'addresses', { addresses: twice })), 'INVALID_ARGUMENT');
  });

  const changes: [field: string, body: Json, event: string][] = [
    ['', { detail: 'at the window', ring_method: 'linear' }, 'agent_updated'],
    ['tag_ids', { tag_ids: [] }, 'agent_updated'],
    ['permission', { permission: 64 }, 'agent_updated'],
    ['status', { status: 'available' }, 'agent_status_updated'],
  ];
  for (const [field, body, event_type] of changes)
    it(`PUT ${field || 'of an agent'} changes that alone and tells ${event_type}`, async () => {
      const agent = await stored();
      const answer = await put(agent['id'], field, body);
      const { tm_update } = answer.body;
      assert.deepEqual(answer.body, { ...agent, ...body, tm_update });
      const event = await lastEvent();
      assert.deepEqual([event['event_type'], event['data']], [event_type, answer.body]);
    });

  it('a new password counts at once and the old one no more; it is in no event', async () => {
    const body = agentBody();
    const { id } = await create('/agents', body);
    assert.equal((await put(id, 'password', { password: 'anders' })).status, 200);
    assert.doesNotMatch(JSON.stringify(await lastEvent()), /anders|\$2/);
    await tokenOf(api, String(body['username']), 'anders');
    await assert.rejects(tokenOf(api, String(body['username']), 'geheim'));
  });

  it('a new direct hash takes the place of the old one', async () => {
    const agent = await stored();
    const changed = await api.request('POST', `/v1.0/agents/${String(agent['id'])}/direct-hash-regenerate`);
    assert.match(String(changed.body['direct_hash']), /^direct\.[0-9a-f]{12}$/);
    assert.notEqual(changed.body['direct_hash'], agent['direct_hash']);
  });

  it('the only admin of a customer can neither be deleted nor lose the permission', async () => {
    const other = await addCustomer(api);
    const admin = await addAgent(api, other, 32);
    const token = await tokenOf(api, admin.username, admin.password);
    const options = { credentials: { token } };
    const attempts = [
      await api.request('DELETE', `/v1.0/agents/${admin.id}`, undefined, options),
      await put(admin.id, 'permission', { permission: 16 }, options),
    ];
    for (const answer of attempts) assert.deepEqual([answer.status, reasonOf(answer)], [409, 'STATE_INVALID']);
    const second = await addAgent(api, other, 240);
    assert.equal((await put(admin.id, 'permission', { permission: 16 }, options)).status, 200);
    assert.equal((await api.database.db('agents').where('id', second.id).first<Json>())['permission'], 240);
  });

  it('of two admins who put each other out at the same moment one stays', async () => {
    const other = await addCustomer(api);
    const admins = [await addAgent(api, other, 32), await addAgent(api, other, 32)];
    const options = { credentials: { token: superToken } };
    const answers = await Promise.all(
      admins.map(({ id }) => api.request('DELETE', `/v1.0/agents/${id}`, undefined, options)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  });

  it('a plain agent acts on itself alone: others are denied, those of other customers not found', async () => {
    const other = await addCustomer(api);
    const [own, colleague] = [await addAgent(api, other, 16), await addAgent(api, other, 16)];
    const token = await tokenOf(api, own.username, own.password);
    const stranger = await stored();
    const as = { credentials: { token } };
    const get = (id: unknown) => api.request('GET', `/v1.0/agents/${String(id)}`, undefined, as);
    assert.equal((await get(own.id)).status, 200);
    assert.equal((await put(own.id, '', { name: 'me' }, as)).body['name'], 'me');
    assert.equal((await put(own.id, 'status', { status: 'away' }, as)).body['status'], 'away');
    assert.equal(reasonOf(await get(colleague.id)), 'PERMISSION_DENIED');
    assert.equal(reasonOf(await put(own.id, 'permission', { permission: 32 }, as)), 'PERMISSION_DENIED');
    assert.equal(reasonOf(await get(stranger['id'])), 'AGENT_NOT_FOUND');
    assert.equal(reasonOf(await get(newId())), 'AGENT_NOT_FOUND');
  });

  it('an accesskey is nobody: /me needs a login', async () => {
    const answer = await api.request('GET', '/v1.0/me');
    assert.deepEqual([answer.status, reasonOf(answer)], [403, 'DIRECT_ACCESS_NOT_SUPPORTED']);
  });

  describe('filters', () => {
    const tag = newId();
    let tagged: unknown;
    before(async () => {
      tagged = (await stored([tag, newId()]))['id'];
      await put(tagged, 'status', { status: 'busy' });
    });
    const idsOf = (answer: Answer): unknown[] => (answer.body['result'] as Json[]).map(({ id }) => id);

    for (const query of [`tag_ids=${tag}`, `tag_ids=${newId()},${tag.toUpperCase()}`, 'status=busy', 'status=busy&x=1'])
      it(`${query.replace(/[0-9a-f-]{36}/gi, 'id')} finds the agent`, async () => {
        assert.deepEqual(idsOf(await api.request('GET', `/v1.0/agents?${query}`)), [tagged]);
      });

    const bad: [query: string, reason: string][] = [
      ['tag_ids=', 'INVALID_TAG_IDS'],
      ['tag_ids=17', 'INVALID_TAG_IDS'],
      [`tag_ids=${tag},`, 'INVALID_TAG_IDS'],
      [`tag_ids=${Array.from({ length: 101 }, newId).join(',')}`, 'INVALID_TAG_IDS'],
      ['status=asleep', 'INVALID_REQUEST_PARAMETER'],
    ];
    for (const [query, reason] of bad)
      it(`${query.slice(0, 20)} is ${reason}`, async () => {
        const answer = await api.request('GET', `/v1.0/agents?${query}`);
        assert.deepEqual([answer.status, reasonOf(answer)], [400, reason]);
      });

    const others: [list: string, query: string][] = [
      ['calls', 'status=dialing&direction=incoming'],
      ['groupcalls', 'status=hangup'],
      ['activeflows', 'status=running&reference_type=call'],
      ['conferences', 'type=connect&status=progressing'],
      ['conferencecalls', 'status=joined'],
      ['recordings', 'status=ended'],
      ['numbers', 'type=normal'],
      ['extensions', 'extension=none'],
      ['tags', 'name=none'],
    ];
    for (const [list, query] of others)
      it(`${list}?${query} is an empty list, and a word that is none is refused`, async () => {
        const answer = await api.request('GET', `/v1.0/${list}?${query}`);
        assert.deepEqual(answer.body, { result: [], next_page_token: '' });
        if (!/status|type/.test(query)) return;
        const bad = await api.request('GET', `/v1.0/${list}?${query.split('=')[0]}=nonsense`);
        assert.equal(reasonOf(bad), 'INVALID_REQUEST_PARAMETER');
      });

    it('a filter holds on every page', async () => {
      const sharing = newId();
      for (let n = 0; n < 3; n++) await stored(n === 1 ? [] : [sharing]);
      const first = await api.request('GET', `/v1.0/agents?page_size=1&tag_ids=${sharing}`);
      const token = encodeURIComponent(String(first.body['next_page_token']));
      const second = await api.request('GET', `/v1.0/agents?page_size=1&tag_ids=${sharing}&page_token=${token}`);
      assert.equal(new Set([...idsOf(first), ...idsOf(second)]).size, 2);
      assert.equal(second.body['next_page_token'], '');
    });
  });

  describe('tags', () => {
    it('are made, renamed and told', async () => {
      const tag = await create('/tags', { name: 'sales', detail: '' });
      assert.equal((await lastEvent())['event_type'], 'tag_created');
      const changed = await api.request('PUT', `/v1.0/tags/${String(tag['id'])}`, { name: 'Verkauf' });
      assert.deepEqual([changed.body['name'], changed.body['detail']], ['Verkauf', '']);
      assert.equal((await create('/tags', { name: 'Verkauf', detail: '' }))['name'], 'Verkauf');
    });

    it('a deleted tag leaves the agents who had it, and they are told', async () => {
      const tag = await create('/tags', { name: 'gone', detail: '' });
      const kept = newId();
      const agent = await stored([String(tag['id']), kept]);
      const path = `/v1.0/tags/${String(tag['id'])}`;
      assert.equal((await api.request('DELETE', path)).status, 200);
      const event = await lastEvent();
      assert.deepEqual([event['event_type'], (event['data'] as Json)['tag_ids']], ['agent_updated', [kept]]);
      const now = await api.request('GET', `/v1.0/agents/${String(agent['id'])}`);
      assert.deepEqual(now.body['tag_ids'], [kept]);
      assert.equal(reasonOf(await api.request('DELETE', path)), 'TAG_NOT_FOUND');
    });
  });
});

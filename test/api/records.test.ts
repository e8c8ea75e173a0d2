import { strict as assert } from 'node:assert';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER } from '#contract/time';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addCustomer } from '../support/people.ts';
import { eventually } from '../support/eventually.ts';

type Json = Record<string, unknown>;
const told = (answer: Answer): [number, unknown] => [answer.status, reasonOf(answer)];
const BAD: [number, string] = [400, 'INVALID_ARGUMENT'];

const QUEUE = {
  ...{ name: 'Sales', detail: '', routing_method: 'random', tag_ids: [] },
  ...{ wait_flow_id: '', wait_timeout: 60_000, service_timeout: 0 },
};
const OUTPLAN = {
  ...{ name: 'Slow', detail: '', source: { type: 'tel', target: '+899 100 000 001' } },
  ...{ dial_timeout: 30_000, try_interval: 600_000 },
  ...{ max_try_count_0: 3, max_try_count_1: 1, max_try_count_2: 0, max_try_count_3: 0, max_try_count_4: 0 },
};
const OUTDIAL = { campaign_id: '', name: 'List', detail: '', data: '' };
const CAMPAIGN = {
  ...{
    name: 'Spring',
    detail: '',
    type: 'call',
    service_level: 100,
    end_handle: 'stop',
    actions: [{ type: 'answer' }],
  },
  ...{ outplan_id: '', outdial_id: '', queue_id: '', next_campaign_id: '' },
};
const ACCOUNT = { type: 'sms', name: 'Texts', detail: '', secret: 'geheim-1', token: 'geheim-2' };
const WIDGET = { name: 'Page', session_flow_id: '' };
const AI = {
  ...{ name: 'Ada', detail: '', engine_model: 'openai.gpt-5', parameter: { tone: 'kind' }, engine_key: 'geheim-3' },
  ...{ init_prompt: 'You answer the phone.', tts_type: '', tts_voice_id: '', stt_type: '' },
};
const RAG = { name: 'Manuals' };

describe('records of the contact centre, of messaging and of AI', () => {
  const api = apiOfTests();

  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    api.request(method, `/v1.0${path}`, body);
  const make = async (path: string, body: unknown): Promise<Json> => {
    const answer = await ask('POST', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const idOf = async (path: string, body: unknown): Promise<string> => String((await make(path, body))['id']);
  const put = async (path: string, body: unknown): Promise<Json> => {
    const answer = await ask('PUT', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const eventsOf = async (id: unknown): Promise<string[]> => {
    const events = api.database.db('events').where('resource_id', String(id)).orderBy('sequence');
    return (await events.select<{ event_type: string }[]>('event_type')).map(event => event.event_type);
  };

  interface Kind {
    path: string;
    body: Json;
    not_found: string;
    /** What its events are called, when it has any. */
    events?: string;
    /** How a moment that has not come is shown. */
    unset: string | null;
  }
  const member = newId();
  const team = async (): Promise<Json> => {
    const ai_id = await idOf('/ais', AI);
    return { name: 'Desk', detail: '', start_member_id: member, members: [{ id: member, name: 'Ada', ai_id }] };
  };
  const KINDS: Kind[] = [
    { path: '/queues', body: QUEUE, not_found: 'QUEUE_NOT_FOUND', events: 'queue', unset: NEVER },
    { path: '/outplans', body: OUTPLAN, not_found: 'OUTPLAN_NOT_FOUND', unset: null },
    { path: '/outdials', body: OUTDIAL, not_found: 'OUTDIAL_NOT_FOUND', events: 'outdial', unset: null },
    { path: '/campaigns', body: CAMPAIGN, not_found: 'CAMPAIGN_NOT_FOUND', events: 'campaign', unset: null },
    {
      ...{ path: '/conversation_accounts', body: ACCOUNT, not_found: 'CONVERSATION_ACCOUNT_NOT_FOUND' },
      ...{ events: 'account', unset: NEVER },
    },
    {
      ...{ path: '/conversation-accounts', body: ACCOUNT, not_found: 'CONVERSATION_ACCOUNT_NOT_FOUND' },
      ...{ events: 'account', unset: NEVER },
    },
    { path: '/webchat_widgets', body: WIDGET, not_found: 'RESOURCE_NOT_FOUND', unset: NEVER },
    { path: '/ais', body: AI, not_found: 'AI_NOT_FOUND', events: 'ai', unset: NEVER },
    { path: '/teams', body: {}, not_found: 'TEAM_NOT_FOUND', events: 'team', unset: NEVER },
    { path: '/rags', body: RAG, not_found: 'RAG_NOT_FOUND', unset: NEVER },
  ];

  for (const kind of KINDS)
    describe(kind.path, () => {
      let body: Json;
      before(async () => {
        body = kind.path === '/teams' ? await team() : kind.body;
      });

      it('is made, read, listed, renamed and deleted, and tells its events', async () => {
        const made = await make(kind.path, body);
        const path = `${kind.path}/${String(made['id'])}`;
        assert.deepEqual([made['tm_update'], made['tm_delete']], [kind.unset, kind.unset]);
        assert.deepEqual((await ask('GET', path)).body, made);
        const ids = async () => ((await ask('GET', kind.path)).body['result'] as Json[]).map(({ id }) => id);
        assert.ok((await ids()).includes(made['id']));
        const renamed = await put(path, { name: 'Another' });
        assert.deepEqual({ ...made, name: 'Another', tm_update: renamed['tm_update'] }, renamed);
        const gone = await ask('DELETE', path);
        assert.notEqual(gone.body['tm_delete'], kind.unset);
        assert.deepEqual(told(await ask('GET', path)), [404, kind.not_found]);
        assert.deepEqual(told(await ask('DELETE', path)), [404, kind.not_found]);
        assert.ok(!(await ids()).includes(made['id']));
        const expected = kind.events ? ['created', 'updated', 'deleted'].map(verb => `${kind.events}_${verb}`) : [];
        assert.deepEqual(await eventsOf(made['id']), expected);
        const hashes = await api.database.db('directs').where('resource_id', String(made['id'])).select<Json[]>('id');
        assert.deepEqual(hashes, [], 'its direct hash went with it');
      });

      it('needs what the specification marks as required', async () => {
        const optional = ['message_flow_id', 'parameter', 'provider_data'];
        for (const field of Object.keys(body).filter(name => !optional.includes(name))) {
          const { [field]: _left, ...rest } = body;
          assert.deepEqual(told(await ask('POST', kind.path, rest)), BAD, field);
        }
      });
    });

  describe('refusals', () => {
    const REFUSED: [path: string, body: () => Json, status: number, reason: string][] = [
      ['/queues', () => ({ ...QUEUE, routing_method: '' }), 400, 'INVALID_ROUTING_METHOD'],
      ['/queues', () => ({ ...QUEUE, routing_method: 'longest' }), 400, 'INVALID_ROUTING_METHOD'],
      ['/queues', () => ({ ...QUEUE, wait_timeout: -1 }), ...BAD],
      ['/queues', () => ({ ...QUEUE, wait_flow_id: newId() }), 404, 'FLOW_NOT_FOUND'],
      ['/queues', () => ({ ...QUEUE, tag_ids: 'all' }), 400, 'INVALID_JSON_BODY'],
      ['/outplans', () => ({ ...OUTPLAN, source: { type: 'pigeon', target: 'x' } }), ...BAD],
      ['/outplans', () => ({ ...OUTPLAN, max_try_count_4: -1 }), ...BAD],
      ['/outdials', () => ({ ...OUTDIAL, name: '' }), ...BAD],
      ['/outdials', () => ({ ...OUTDIAL, campaign_id: newId() }), 404, 'CAMPAIGN_NOT_FOUND'],
      ['/campaigns', () => ({ ...CAMPAIGN, type: 'fax' }), ...BAD],
      ['/campaigns', () => ({ ...CAMPAIGN, actions: [{ type: 'dance' }] }), 400, 'INVALID_ACTION_TYPE'],
      ['/campaigns', () => ({ ...CAMPAIGN, outplan_id: newId() }), 404, 'OUTPLAN_NOT_FOUND'],
      ['/campaigns', () => ({ ...CAMPAIGN, outdial_id: newId() }), 404, 'OUTDIAL_NOT_FOUND'],
      ['/campaigns', () => ({ ...CAMPAIGN, queue_id: newId() }), 404, 'QUEUE_NOT_FOUND'],
      ['/campaigns', () => ({ ...CAMPAIGN, next_campaign_id: newId() }), 404, 'CAMPAIGN_NOT_FOUND'],
      ['/conversation_accounts', () => ({ ...ACCOUNT, type: 'fax' }), ...BAD],
      ['/conversation_accounts', () => ({ ...ACCOUNT, type: 'whatsapp' }), 400, 'INVALID_PROVIDER_DATA'],
      ['/conversation_accounts', () => ({ ...ACCOUNT, message_flow_id: newId() }), 404, 'FLOW_NOT_FOUND'],
      ['/conversation_accounts', () => ({ ...ACCOUNT, type: 'line' }), 503, 'SERVICE_UNAVAILABLE'],
      ['/webchat_widgets', () => ({ ...WIDGET, session_flow_id: newId() }), 404, 'FLOW_NOT_FOUND'],
      ['/webchat_widgets', () => ({ ...WIDGET, status: 'asleep' }), ...BAD],
      ...[
        { primary_color: 'red' },
        { logo_url: 'http://example.com/logo.png' },
        { position: 'top' },
        { header_title: 'x'.repeat(101) },
        { header_subtitle: 'x'.repeat(201) },
        { font_size: 'huge' },
      ].map(
        theme_config =>
          ['/webchat_widgets', () => ({ ...WIDGET, theme_config }), 400, 'INVALID_THEME_CONFIG'] as [
            string,
            () => Json,
            number,
            string,
          ],
      ),
      ['/ais', () => ({ ...AI, engine_model: 'abacus.1' }), ...BAD],
      ['/ais', () => ({ ...AI, engine_model: 'openai.' }), ...BAD],
      ['/ais', () => ({ ...AI, tool_names: ['fly'] }), 400, 'INVALID_TOOL_NAMES'],
      ['/ais', () => ({ ...AI, tool_names: ['get_case_notes'] }), 400, 'INVALID_TOOL_NAMES'],
      ['/ais', () => ({ ...AI, type: 'insight', tool_names: ['send_email'] }), 400, 'INVALID_TOOL_NAMES'],
      ['/ais', () => ({ ...AI, tts_type: 'gramophone' }), ...BAD],
      ['/ais', () => ({ ...AI, vad_config: { confidence: 1.1 } }), ...BAD],
      ['/ais', () => ({ ...AI, vad_config: { stop_secs: 31 } }), ...BAD],
      ['/ais', () => ({ ...AI, rag_id: newId() }), 404, 'RAG_NOT_FOUND'],
      ['/rags', () => ({ name: '' }), ...BAD],
      ['/rags', () => ({ ...RAG, source_urls: ['ftp://example.com'] }), 400, 'INVALID_ARGUMENT'],
      ['/rags', () => ({ ...RAG, storage_file_ids: [newId()] }), 404, 'FILE_NOT_FOUND'],
    ];
    for (const [index, [path, body, status, reason]] of REFUSED.entries())
      it(`${index + 1}: ${path} answers ${reason}`, async () => {
        assert.deepEqual(told(await ask('POST', path, body())), [status, reason]);
      });
  });

  it('an empty id is no reference, in any field', async () => {
    const queue = await make('/queues', QUEUE);
    assert.deepEqual([queue['wait_flow_id'], queue['total_abandoned_count']], [EMPTY_ID, 0]);
  });

  it('nothing names the record of another account', async () => {
    const customer_id = await addCustomer(api);
    const [outplan, rag] = [await idOf('/outplans', OUTPLAN), await idOf('/rags', RAG)];
    await api.database.db('outplans').where('id', outplan).update({ customer_id });
    await api.database.db('rags').where('id', rag).update({ customer_id });
    const campaign = await ask('POST', '/campaigns', { ...CAMPAIGN, outplan_id: outplan });
    assert.deepEqual(told(campaign), [404, 'OUTPLAN_NOT_FOUND']);
    assert.deepEqual(told(await ask('POST', '/ais', { ...AI, rag_id: rag })), [404, 'RAG_NOT_FOUND']);
  });

  describe('queues', () => {
    it('change their tags and their routing alone, and lose a tag that is deleted', async () => {
      const path = `/queues/${await idOf('/queues', QUEUE)}`;
      const tag = await idOf('/tags', { name: 'red', detail: '' });
      assert.deepEqual((await put(`${path}/tag_ids`, { tag_ids: [tag] }))['tag_ids'], [tag]);
      assert.equal((await put(`${path}/routing_method`, { routing_method: 'random' }))['routing_method'], 'random');
      const refused = await ask('PUT', `${path}/routing_method`, { routing_method: '' });
      assert.deepEqual(told(refused), [400, 'INVALID_ROUTING_METHOD']);
      assert.deepEqual(told(await ask('PUT', `${path}/tag_ids`, {})), BAD);
      await ask('DELETE', `/tags/${tag}`);
      assert.deepEqual((await ask('GET', path)).body['tag_ids'], []);
    });

    for (const [path, body] of [
      ['/queues', QUEUE],
      ['/ais', AI],
      ['/webchat_widgets', WIDGET],
    ] as const)
      it(`${path}: a direct hash is replaced in both spellings, and the old one boots no more`, async () => {
        const { id, direct_hash } = await make(path, body);
        const again = await make(`${path}/${String(id)}/direct-hash-regenerate`, undefined);
        const third = await make(`${path}/${String(id)}/direct_hash_regenerate`, undefined);
        const hashes = [direct_hash, again['direct_hash'], third['direct_hash']];
        assert.equal(new Set(hashes).size, 3);
        const row = await api.database.db('directs').where('resource_id', String(id)).first<{ hash: string }>('hash');
        assert.equal(row?.hash, third['direct_hash']);
        const boot = (direct_hash: unknown) => api.request('POST', '/auth/boot', { direct_hash }, { credentials: {} });
        if (path === '/queues') return;
        assert.deepEqual([(await boot(hashes[0])).status, (await boot(hashes[2])).status], [400, 200]);
      });
  });

  it('an outplan keeps its numbers normalized, and how it dials changes as a whole', async () => {
    const outplan = await make('/outplans', OUTPLAN);
    assert.equal((outplan['source'] as Json)['target'], '+899100000001');
    const { name: _name, detail: _detail, ...info } = OUTPLAN;
    const path = `/outplans/${String(outplan['id'])}/dial_info`;
    assert.equal((await put(path, { ...info, max_try_count_0: 9 }))['max_try_count_0'], 9);
    assert.deepEqual(told(await ask('PUT', path, { dial_timeout: 1 })), BAD);
  });

  describe('targets of outdials', () => {
    const target = { name: 'Bob', detail: '', data: '{"id":7}', destination_1: { type: 'tel', target: '+49 30 1' } };

    it('begin idle with nothing tried, and are found in their own outdial only', async () => {
      const [one, two] = [await idOf('/outdials', OUTDIAL), await idOf('/outdials', OUTDIAL)];
      const made = await make(`/outdials/${one}/targets`, target);
      assert.deepEqual([made['status'], made['try_count_1'], made['destination_0']], ['idle', 0, null]);
      assert.equal((made['destination_1'] as Json)['target'], '+49301');
      assert.equal('customer_id' in made, false);
      const path = (outdial: string) => `/outdials/${outdial}/targets/${String(made['id'])}`;
      assert.deepEqual((await ask('GET', path(one))).body, made);
      assert.deepEqual(told(await ask('GET', path(two))), [404, 'OUTDIAL_TARGET_NOT_FOUND']);
      assert.deepEqual(told(await ask('DELETE', path(two))), [404, 'OUTDIAL_TARGET_NOT_FOUND']);
      const list = async (outdial: string) => (await ask('GET', `/outdials/${outdial}/targets`)).body['result'];
      assert.deepEqual([await list(one), await list(two)], [[made], []]);
      assert.equal((await ask('DELETE', path(one))).status, 200);
      assert.deepEqual(await list(one), []);
    });

    it('need somewhere to be reached', async () => {
      const path = `/outdials/${await idOf('/outdials', OUTDIAL)}/targets`;
      const nowhere = { ...target, destination_1: null };
      assert.deepEqual(told(await ask('POST', path, nowhere)), BAD);
      assert.deepEqual(told(await ask('POST', path, { ...target, destination_1: { type: 'tel', target: '' } })), BAD);
      assert.deepEqual(told(await ask('POST', `/outdials/${newId()}/targets`, target)), [404, 'OUTDIAL_NOT_FOUND']);
    });
  });

  describe('campaigns', () => {
    const holderOf = async (outdial: string): Promise<unknown> =>
      (await ask('GET', `/outdials/${outdial}`)).body['campaign_id'];

    it('hold their outdial, which no other one can take, and let go of it', async () => {
      const [one, two] = [await idOf('/outdials', OUTDIAL), await idOf('/outdials', OUTDIAL)];
      const campaign = await idOf('/campaigns', { ...CAMPAIGN, outdial_id: one });
      assert.equal(await holderOf(one), campaign);
      assert.deepEqual(told(await ask('POST', '/campaigns', { ...CAMPAIGN, outdial_id: one })), BAD);
      const ids = { outplan_id: '', outdial_id: two, queue_id: '', next_campaign_id: '' };
      await put(`/campaigns/${campaign}/resource_info`, ids);
      assert.deepEqual([await holderOf(one), await holderOf(two)], [EMPTY_ID, campaign]);
      await ask('DELETE', `/campaigns/${campaign}`);
      assert.equal(await holderOf(two), EMPTY_ID);
    });

    it('of two that want one outdial at once, one gets it', async () => {
      const outdial_id = await idOf('/outdials', OUTDIAL);
      const tries = [1, 2, 3].map(() => ask('POST', '/campaigns', { ...CAMPAIGN, outdial_id }));
      const statuses = (await Promise.all(tries)).map(answer => answer.status).sort();
      assert.deepEqual(statuses, [200, 400, 400]);
    });

    it('are refused to run for what they lack, and else because nothing here runs them', async () => {
      const campaign = await idOf('/campaigns', CAMPAIGN);
      const path = `/campaigns/${campaign}`;
      const run = () => ask('PUT', `${path}/status`, { status: 'run' });
      assert.deepEqual(told(await run()), BAD);
      const [outplan_id, outdial_id] = [await idOf('/outplans', OUTPLAN), await idOf('/outdials', OUTDIAL)];
      await put(`${path}/resource_info`, { outplan_id, outdial_id, queue_id: '', next_campaign_id: '' });
      assert.deepEqual(told(await run()), [503, 'SERVICE_UNAVAILABLE']);
      assert.equal((await ask('GET', path)).body['status'], 'stop');
      assert.deepEqual(told(await ask('PUT', `${path}/status`, { status: 'stopping' })), BAD);
      assert.equal((await put(`${path}/status`, { status: 'stop' }))['status'], 'stop');
      await ask('DELETE', `/outplans/${outplan_id}`);
      assert.deepEqual(told(await run()), [404, 'OUTPLAN_NOT_FOUND']);
      assert.deepEqual((await ask('GET', `${path}/campaigncalls`)).body['result'], []);
    });

    it('are not deleted while they run', async () => {
      const id = await idOf('/campaigns', CAMPAIGN);
      await api.database.db('campaigns').where({ id }).update({ status: 'run' });
      assert.deepEqual(told(await ask('DELETE', `/campaigns/${id}`)), [409, 'STATE_INVALID']);
      assert.equal((await ask('GET', `/campaigns/${id}`)).status, 200);
    });

    it('change one thing at a time', async () => {
      const path = `/campaigns/${await idOf('/campaigns', CAMPAIGN)}`;
      assert.equal((await put(`${path}/service_level`, { service_level: 50 }))['service_level'], 50);
      const changed = await put(`${path}/actions`, { actions: [{ type: 'hangup' }] });
      assert.deepEqual(
        (changed['actions'] as Json[]).map(({ type }) => type),
        ['hangup'],
      );
      const refused = await ask('PUT', `${path}/actions`, { actions: [{ type: 'dance' }] });
      assert.deepEqual(told(refused), [400, 'INVALID_ACTION_TYPE']);
      const next_campaign_id = await idOf('/campaigns', CAMPAIGN);
      assert.equal((await put(`${path}/next_campaign_id`, { next_campaign_id }))['next_campaign_id'], next_campaign_id);
    });
  });

  describe('conversation accounts', () => {
    it('never show what proves us, in no answer and no event', async () => {
      const provider_data = { phone_number_id: '15550001', app_secret: 'geheim-4' };
      const made = await make('/conversation_accounts', { ...ACCOUNT, type: 'whatsapp', provider_data });
      assert.deepEqual(made['provider_data'], { phone_number_id: '15550001' });
      const path = `/conversation_accounts/${String(made['id'])}`;
      const changed = await put(path, { token: 'geheim-5', provider_data: { phone_number_id: '15550002' } });
      assert.deepEqual(changed['provider_data'], { phone_number_id: '15550002' });
      const row = await api.database.db('conversation_accounts').where('id', String(made['id'])).first<Json>();
      assert.deepEqual([row?.['token'], row?.['app_secret']], ['geheim-5', 'geheim-4']);
      const events = await api.database.db('events').where('resource_id', String(made['id']));
      assert.doesNotMatch(JSON.stringify([made, changed, events, (await ask('GET', path)).body]), /geheim/);
      const empty = await ask('PUT', path, { provider_data: {} });
      assert.deepEqual(told(empty), [400, 'INVALID_PROVIDER_DATA']);
      assert.equal((await put(path, { type: 'line' }))['type'], 'whatsapp', 'the type stays');
    });
  });

  describe('webchat widgets', () => {
    it('fill a theme with what it leaves out, and idle 1800 seconds when nobody says', async () => {
      const theme_config = { primary_color: '#00aaff', position: 'bottom_left' };
      const made = await make('/webchat_widgets', { ...WIDGET, session_idle_timeout: 0, theme_config });
      const theme = made['theme_config'] as Json;
      assert.deepEqual([made['session_idle_timeout'], made['status']], [1800, 'active']);
      assert.deepEqual(
        [theme['primary_color'], theme['position'], theme['header_title'], theme['typing_indicator_enabled']],
        ['#00aaff', 'bottom_left', 'Chat with us', true],
      );
      const plain = await make('/webchat_widgets', WIDGET);
      assert.equal(plain['theme_config'], null);
      const boot = async ({ direct_hash }: Json) =>
        (await api.request('POST', '/auth/boot', { direct_hash }, { credentials: {} })).body['resource_data'];
      assert.deepEqual([await boot(made), await boot(plain)], [{ public_display_config: theme }, undefined]);
      const asleep = await put(`/webchat_widgets/${String(made['id'])}`, { status: 'inactive' });
      assert.deepEqual([asleep['status'], asleep['theme_config']], ['inactive', theme]);
    });
  });

  describe('AIs', () => {
    it('never show their key', async () => {
      const made = await make('/ais', AI);
      const events = await api.database.db('events').where('resource_id', String(made['id']));
      const seen = JSON.stringify([made, events, (await ask('GET', `/ais/${String(made['id'])}`)).body]);
      assert.equal(made['engine_key'], '');
      assert.doesNotMatch(seen, /geheim/);
    });

    it('remember every prompt, newest first, and none that is the same or empty', async () => {
      const path = `/ais/${await idOf('/ais', AI)}`;
      await put(path, { init_prompt: AI.init_prompt });
      const second = await put(path, { init_prompt: 'You listen.' });
      const list = async () => (await ask('GET', `${path}/prompt_histories`)).body['result'] as Json[];
      const entries = await list();
      assert.deepEqual(
        entries.map(({ prompt, proposal_id }) => [prompt, proposal_id]),
        [
          ['You listen.', EMPTY_ID],
          [AI.init_prompt, EMPTY_ID],
        ],
      );
      assert.equal(second['current_prompt_history_id'], entries[0]?.['id']);
      assert.deepEqual((await ask('GET', `${path}/prompt_histories/${String(entries[1]?.['id'])}`)).body, entries[1]);
      assert.equal((await put(path, { init_prompt: '' }))['current_prompt_history_id'], EMPTY_ID);
      assert.equal((await list()).length, 2);
      assert.deepEqual(told(await ask('GET', `${path}/prompt_histories/first`)), [400, 'INVALID_HISTORY_ID']);
      const other = `/ais/${await idOf('/ais', AI)}/prompt_histories/${String(entries[1]?.['id'])}`;
      assert.deepEqual(told(await ask('GET', other)), [404, 'RESOURCE_NOT_FOUND']);
      assert.deepEqual((await ask('GET', `${path}/participants`)).body['result'], []);
    });

    it('one at a time helps agents, and both that change tell so', async () => {
      const insight = { ...AI, type: 'insight', tool_names: ['all'] };
      const [one, two] = [await idOf('/ais', insight), await idOf('/ais', insight)];
      assert.equal((await make(`/ais/${one}/activate_insight`, undefined))['is_insight_active'], true);
      assert.equal((await make(`/ais/${two}/activate_insight`, undefined))['is_insight_active'], true);
      assert.equal((await ask('GET', `/ais/${one}`)).body['is_insight_active'], false);
      assert.deepEqual(await eventsOf(one), ['ai_created', 'ai_updated', 'ai_updated']);
      const normal = await idOf('/ais', AI);
      assert.deepEqual(told(await ask('POST', `/ais/${normal}/activate_insight`)), [400, 'AI_NOT_INSIGHT_TYPE']);
      const changed = await put(`/ais/${two}`, { type: 'normal' });
      assert.equal(changed['is_insight_active'], false, 'a normal one helps no agents');
    });
  });

  describe('teams', () => {
    const [a, b] = [newId(), newId()];
    const transition = (more: Json = {}) => ({ function_name: 'to_b', description: '', next_member_id: b, ...more });
    const members = (ai_id: string, more: Json = {}): Json[] => [
      { id: a, name: 'A', ai_id, transitions: [transition()], ...more },
      { id: b, name: 'B', ai_id },
    ];
    const FAULTS: [string, (ai: string, insight: string) => Json][] = [
      ['has no members', () => ({ members: [] })],
      ['begins with nobody', ai => ({ start_member_id: newId(), members: members(ai) })],
      ['has a member twice', ai => ({ members: [...members(ai), ...members(ai)] })],
      ['has a member without a name', ai => ({ members: members(ai, { name: '' }) })],
      ['names an AI that nobody knows', () => ({ members: members(newId()) })],
      ['names an AI for agents', (_ai, insight) => ({ members: members(insight) })],
      [
        'hands over to nobody',
        ai => ({ members: members(ai, { transitions: [transition({ next_member_id: newId() })] }) }),
      ],
      [
        'calls a hand-over like a tool',
        ai => ({ members: members(ai, { transitions: [transition({ function_name: 'send_email' })] }) }),
      ],
      ['calls two hand-overs alike', ai => ({ members: members(ai, { transitions: [transition(), transition()] }) })],
    ];
    for (const [fault, more] of FAULTS)
      it(`are refused when one ${fault}`, async () => {
        const [ai, insight] = [await idOf('/ais', AI), await idOf('/ais', { ...AI, type: 'insight' })];
        const body = { name: 'T', detail: '', start_member_id: a, ...more(ai, insight) };
        assert.deepEqual(told(await ask('POST', '/teams', body)), BAD);
        const path = `/teams/${await idOf('/teams', { ...body, start_member_id: a, members: members(ai) })}`;
        assert.deepEqual(told(await ask('PUT', path, more(ai, insight))), BAD);
      });
  });

  describe('knowledge bases', () => {
    const PAGE = 'https://example.com/manual.html';

    it('begin with sources that wait, and say of each why it cannot be read', async () => {
      const rag = await make('/rags', { ...RAG, source_urls: [PAGE] });
      const path = `/rags/${String(rag['id'])}`;
      const [source] = rag['sources'] as Json[];
      assert.deepEqual([rag['status'], source?.['status'], source?.['source_url']], ['processing', 'pending', PAGE]);
      const read = async () => (await ask('GET', path)).body;
      const first = (body: Json) => (body['sources'] as Json[])[0] ?? {};
      const failed = await eventually('the source', read, body => first(body)['status'] === 'error', 8000);
      assert.match(String(first(failed)['status_message']), /no embedding provider/);
      assert.equal(failed['status'], 'processing');
    }).timeout(10_000);

    it('take a source once, and give it back', async () => {
      const path = `/rags/${await idOf('/rags', { ...RAG, source_urls: [PAGE] })}`;
      const add = (body: Json) => ask('POST', `${path}/sources`, body);
      assert.deepEqual(told(await add({})), BAD);
      assert.deepEqual(told(await add({ source_urls: [PAGE] })), [409, 'ALREADY_EXISTS']);
      const other = `${PAGE}?2`;
      assert.deepEqual(told(await add({ source_urls: [other, other] })), [409, 'ALREADY_EXISTS']);
      const two = (await add({ source_urls: [other] })).body['sources'] as Json[];
      assert.deepEqual(
        two.map(source => source['source_url']),
        [PAGE, other],
      );
      const one = `${path}/sources/${String(two[0]?.['id'])}`;
      const left = (await ask('DELETE', one)).body['sources'] as Json[];
      assert.deepEqual(
        left.map(source => source['source_url']),
        [other],
      );
      assert.deepEqual(told(await ask('DELETE', one)), [404, 'DOCUMENT_NOT_FOUND']);
      assert.equal((await add({ source_urls: [PAGE] })).status, 200, 'what was taken away can come again');
      assert.deepEqual(told(await ask('PUT', path, {})), BAD);
    });
  });
});

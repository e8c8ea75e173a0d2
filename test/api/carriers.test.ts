import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { DEFAULT_ROUTES_OWNER } from '#contract/carrier';
import { EMPTY_ID, newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { NEVER, timestamp } from '#contract/time';
import { hashPassword } from '../../control-api/auth/secrets.ts';
import { reasonOf, apiOfTests, type Answer } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';

type Json = Record<string, unknown>;
type Credentials = { token?: string; accesskey?: string };
const told = (answer: Answer): unknown[] => [answer.status, reasonOf(answer)];

const PROVIDER = {
  type: 'sip',
  hostname: 'sip.carrier.example',
  tech_prefix: '',
  tech_postfix: '',
  tech_headers: {},
  name: 'Carrier',
  detail: '',
};
const TRUNK = { domain_name: 'Office-1', auth_types: ['basic'], username: 'pbx', password: 'a secret' };

describe('the edge: trunks, providers, routes, outbound configs', () => {
  const api = apiOfTests();
  let operator: Credentials;
  let manager: Credentials;

  const login = async (username: string, password: string): Promise<Credentials> => {
    const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
    return { token: String(answer.body['token']) };
  };
  before(async () => {
    operator = await login(api.welcome.username, api.welcome.password);
    const agent = { id: newId(), customer_id: api.welcome.customer_id, username: 'm@example.org', permission: 64 };
    await api.database.db('agents').insert({ ...agent, password: await hashPassword('m'), tm_create: timestamp() });
    manager = await login('m@example.org', 'm');
  });

  /** As the accesskey (customer admin) unless somebody else asks. */
  const ask = (method: string, path: string, body?: unknown, credentials?: Credentials): Promise<Answer> =>
    api.request(method, `/v1.0${path}`, body, credentials ? { credentials } : {});
  const make = async (path: string, body: unknown, credentials?: Credentials): Promise<Json> => {
    const answer = await ask('POST', path, body, credentials);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const lastEvent = async (): Promise<Json> =>
    (await api.database.db('events').orderBy('sequence', 'desc').first()) as Json;
  const normalNumber = async (number: string, more: Json = {}): Promise<string> => {
    const id = newId();
    const row = { customer_id: api.welcome.customer_id, type: 'normal', status: 'active', name: '', detail: '' };
    const times = { tm_create: timestamp(), tm_purchase: timestamp(), tm_renew: timestamp() };
    await api.database.db('numbers').insert({ id, number, ...row, ...times, ...more });
    return id;
  };

  describe('who may', () => {
    const collections: [string, 'admin' | 'super'][] = [
      ['/trunks', 'admin'],
      ['/outbound_configs', 'admin'],
      ['/outbound_config', 'admin'],
      ['/providers', 'super'],
      ['/routes', 'super'],
      ['/providercalls', 'super'],
    ];
    for (const [path, level] of collections)
      it(`${path}: ${level === 'admin' ? 'admins, but no managers' : 'super admins alone'}`, async () => {
        assert.deepEqual(told(await ask('GET', path, undefined, manager)), [403, 'PERMISSION_DENIED']);
        assert.equal((await ask('GET', path)).status, level === 'admin' ? 200 : 403);
        assert.equal((await ask('GET', path, undefined, operator)).status, 200);
      });
    for (const [method, path] of [
      ['POST', '/numbers/renew'],
      ['POST', '/providers/setup'],
    ] as const)
      it(`${method} ${path}: super admins alone`, async () => {
        const body = { tm_renew: '2026-01-01 00:00:00', carrier: 'http', name: 'x', credentials: { api_key: 'k' } };
        assert.deepEqual(told(await ask(method, path, body)), [403, 'PERMISSION_DENIED']);
      });
  });

  describe('not found', () => {
    for (const [path, reason] of [
      ['/trunks', 'TRUNK_NOT_FOUND'],
      ['/providers', 'PROVIDER_NOT_FOUND'],
      ['/routes', 'ROUTE_NOT_FOUND'],
      ['/outbound_configs', 'OUTBOUND_CONFIG_NOT_FOUND'],
      ['/providercalls', 'PROVIDERCALL_NOT_FOUND'],
      ['/numbers', 'NUMBER_NOT_FOUND'],
    ] as const)
      it(`${path}/{id} is ${reason}, and INVALID_ID when it is no UUID`, async () => {
        assert.deepEqual(told(await ask('GET', `${path}/${newId()}`, undefined, operator)), [404, reason]);
        assert.deepEqual(told(await ask('DELETE', `${path}/${newId()}`, undefined, operator)), [404, reason]);
        assert.deepEqual(told(await ask('GET', `${path}/nonsense`, undefined, operator)), [400, 'INVALID_ID']);
      });
  });

  describe('trunks (21)', () => {
    it('get their domain in lower case, keep it for good, and tell no password in events', async () => {
      const trunk = await make('/trunks', TRUNK);
      assert.deepEqual([trunk['domain_name'], trunk['tm_update']], ['office-1', NEVER]);
      const event = await lastEvent();
      assert.equal(event['event_type'], 'trunk_created');
      assert.doesNotMatch(JSON.stringify(event['data']), /a secret/);
      const path = `/trunks/${String(trunk['id'])}`;
      const changed = await ask('PUT', path, { domain_name: 'other', name: 'Hall', password: 'newer' });
      assert.deepEqual(
        [changed.body['domain_name'], changed.body['name'], changed.body['password'], changed.body['username']],
        ['office-1', 'Hall', 'newer', 'pbx'],
      );
      assert.deepEqual(told(await ask('POST', '/trunks', { ...TRUNK, domain_name: 'OFFICE-1' })), [
        409,
        'ALREADY_EXISTS',
      ]);
      await ask('DELETE', path);
      assert.equal((await lastEvent())['event_type'], 'trunk_deleted');
      await make('/trunks', TRUNK); // the name came free
    });

    it('of another account are not found', async () => {
      const trunk = await make('/trunks', { ...TRUNK, domain_name: 'theirs' });
      const customer_id = newId();
      const customer = { id: customer_id, status: 'active', sip_label: 'yyyy', tm_create: timestamp() };
      await api.database.db('customers').insert(customer);
      await api.database.db('trunks').where('id', String(trunk['id'])).update({ customer_id });
      assert.deepEqual(told(await ask('GET', `/trunks/${String(trunk['id'])}`)), [404, 'TRUNK_NOT_FOUND']);
      assert.equal((await ask('GET', `/trunks/${String(trunk['id'])}`, undefined, operator)).status, 200);
    });

    const accepted: [string, Json][] = [
      ['addresses and ranges', { auth_types: ['ip'], allowed_ips: ['192.0.2.7', '2001:db8::/32', '10.0.0.0/8'] }],
      ['both ways', { ...TRUNK, domain_name: 'both', auth_types: ['basic', 'ip'], allowed_ips: ['192.0.2.7'] }],
      ['dots in the domain', { ...TRUNK, domain_name: 'a.b-c' }],
    ];
    for (const [index, [title, body]] of accepted.entries())
      it(`are taken with ${title}`, async () => {
        const trunk = await make('/trunks', { domain_name: `taken-${index}`, ...body });
        assert.deepEqual((await ask('GET', `/trunks/${String(trunk['id'])}`)).body, trunk);
      });

    const refused: Json[] = [
      { domain_name: '1st' },
      { domain_name: 'x' },
      { domain_name: `a${'b'.repeat(31)}` },
      { domain_name: 'a_b' },
      { auth_types: [] },
      { auth_types: ['digest'] },
      { auth_types: ['basic'], password: '' },
      { auth_types: ['basic'], username: '' },
      { auth_types: ['ip'] },
      { auth_types: ['ip'], allowed_ips: ['office.example'] },
      { auth_types: ['ip'], allowed_ips: ['192.0.2.7/33'] },
      { password: 'a\r\nb' },
    ];
    for (const body of refused)
      it(`refuse ${JSON.stringify(body).slice(0, 60)}`, async () => {
        const answer = await ask('POST', '/trunks', { ...TRUNK, domain_name: 'refused', ...body });
        assert.deepEqual(told(answer), [400, 'INVALID_ARGUMENT']);
      });

    it('cannot be changed to ways they have nothing for', async () => {
      const trunk = await make('/trunks', { ...TRUNK, domain_name: 'narrow' });
      const path = `/trunks/${String(trunk['id'])}`;
      assert.deepEqual(told(await ask('PUT', path, { auth_types: ['ip'] })), [400, 'INVALID_ARGUMENT']);
      assert.equal((await ask('PUT', path, { auth_types: ['ip'], allowed_ips: ['192.0.2.1'] })).status, 200);
    });
  });

  describe('providers (22)', () => {
    it('are the platform’s, unknown in health, and told in no event', async () => {
      const before = await lastEvent();
      const provider = await make('/providers', { ...PROVIDER, tech_headers: { 'X-Account': '7' } }, operator);
      assert.equal('customer_id' in provider, false);
      assert.deepEqual(
        [provider['health_status'], provider['health_checked_at'], provider['metadata'], provider['tech_headers']],
        ['unknown', null, {}, { 'X-Account': '7' }],
      );
      assert.deepEqual(await lastEvent(), before);
    });

    it('show the health that was found at their hostname, and are unknown again at another', async () => {
      const { id, hostname } = (await make('/providers', PROVIDER, operator)) as { id: string; hostname: string };
      const redis = new Redis(api.redisUrl);
      const checked = timestamp();
      const note = { health_status: 'unhealthy', health_checked_at: checked, hostname };
      await redis.set(keys.carrierHealth(id), JSON.stringify(note));
      redis.disconnect();
      const seen = () => ask('GET', `/providers/${id}`, undefined, operator).then(answer => answer.body);
      const found = await eventually('the health', seen, one => one['health_status'] === 'unhealthy', 8000);
      assert.equal(found['health_checked_at'], checked);
      const same = await ask('PUT', `/providers/${id}`, { hostname, name: 'B' }, operator);
      assert.equal(same.body['health_status'], 'unhealthy');
      const moved = await ask('PUT', `/providers/${id}`, { hostname: '192.0.2.9:5080' }, operator);
      assert.deepEqual([moved.body['health_status'], moved.body['health_checked_at']], ['unknown', null]);
    }).timeout(12_000);

    const refused: [Json, string][] = [
      [{ codecs: 'PCMU,,PCMA' }, 'INVALID_CODECS'],
      [{ codecs: 'PCMU\r\nX: y' }, 'INVALID_CODECS'],
      [{ codecs: 'PCMU(8000)' }, 'INVALID_CODECS'],
      [{ codecs: 'x'.repeat(256) }, 'INVALID_CODECS'],
      [{ tech_headers: { 'X-A': 7 } }, 'INVALID_ARGUMENT'],
      [{ type: 'h323' }, 'INVALID_ARGUMENT'],
      [{ hostname: 'a b' }, 'INVALID_ARGUMENT'],
      [{ hostname: 'sip:carrier.example' }, 'INVALID_ARGUMENT'],
      [{ hostname: 'carrier.example:70000' }, 'INVALID_ARGUMENT'],
      [{ tech_prefix: '1@evil.example' }, 'INVALID_ARGUMENT'],
      [{ tech_postfix: 'a\r\nb' }, 'INVALID_ARGUMENT'],
      [{ register: true }, 'INVALID_ARGUMENT'],
      [{ max_calls: -1 }, 'INVALID_ARGUMENT'],
    ];
    for (const [body, reason] of refused)
      it(`refuse ${JSON.stringify(body).slice(0, 50)} as ${reason}`, async () => {
        assert.deepEqual(told(await ask('POST', '/providers', { ...PROVIDER, ...body }, operator)), [400, reason]);
      });

    for (const field of Object.keys(PROVIDER))
      it(`need ${field}`, async () => {
        const { [field]: _left, ...rest } = PROVIDER as Json;
        assert.deepEqual(told(await ask('POST', '/providers', rest, operator)), [400, 'INVALID_ARGUMENT']);
      });

    it('are not set up without a carrier adapter', async () => {
      const body = { carrier: 'http', name: 'x', credentials: { api_key: 'k' } };
      assert.deepEqual(told(await ask('POST', '/providers/setup', body, operator)), [503, 'SERVICE_UNAVAILABLE']);
      const unknown = await ask('POST', '/providers/setup', { ...body, carrier: 'other' }, operator);
      assert.deepEqual(told(unknown), [400, 'INVALID_ARGUMENT']);
    });
  });

  describe('routes (23)', () => {
    let provider_id: string;
    before(async () => {
      provider_id = String((await make('/providers', PROVIDER, operator))['id']);
    });
    const route = (more: Json = {}) => ({
      customer_id: api.welcome.customer_id,
      provider_id,
      priority: 1,
      target: '+49',
      ...more,
    });

    it('belong to a customer or to everybody, and are listed by customer', async () => {
      const own = await make('/routes', route(), operator);
      const shared = await make('/routes', route({ customer_id: DEFAULT_ROUTES_OWNER, target: 'all' }), operator);
      const idsOf = async (query: string): Promise<unknown[]> =>
        ((await ask('GET', `/routes${query}`, undefined, operator)).body['result'] as Json[]).map(one => one['id']);
      assert.deepEqual(await idsOf(''), [shared['id'], own['id']]);
      assert.deepEqual(await idsOf(`?customer_id=${DEFAULT_ROUTES_OWNER}`), [shared['id']]);
      const changed = await ask('PUT', `/routes/${String(own['id'])}`, { priority: 7, customer_id: newId() }, operator);
      assert.deepEqual([changed.body['priority'], changed.body['customer_id']], [7, api.welcome.customer_id]);
      await ask('DELETE', `/routes/${String(own['id'])}`, undefined, operator);
      assert.deepEqual(await idsOf(`?customer_id=${api.welcome.customer_id}`), []);
    });

    const refused: [string, Json, number, string][] = [
      ['a provider that nobody knows', { provider_id: newId() }, 404, 'PROVIDER_NOT_FOUND'],
      ['a customer that nobody knows', { customer_id: newId() }, 404, 'CUSTOMER_NOT_FOUND'],
      ['a target that is no calling code', { target: '49' }, 400, 'INVALID_ARGUMENT'],
      ['a target that is a number', { target: '+4930123' }, 400, 'INVALID_ARGUMENT'],
      ['a priority that is no number', { priority: 'first' }, 400, 'INVALID_JSON_BODY'],
    ];
    for (const [title, more, status, reason] of refused)
      it(`refuse ${title}`, async () => {
        assert.deepEqual(told(await ask('POST', '/routes', route(more), operator)), [status, reason]);
      });
  });

  describe('the outbound config (16)', () => {
    let id: string;
    const own = async (): Promise<Json> => (await ask('GET', '/outbound_config')).body;
    before(async () => {
      id = String((await own())['id']);
    });

    it('exists from the first start, and lets nothing out', async () => {
      const { destination_whitelist, codecs, default_outgoing_source_number_id, tm_update, tm_create } = await own();
      assert.deepEqual([destination_whitelist, codecs, default_outgoing_source_number_id], [[], '', EMPTY_ID]);
      assert.equal(tm_update, null);
      assert.match(String(tm_create), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    });

    for (const path of ['/outbound_config', '/outbound_configs/{id}'])
      it(`PUT ${path} keeps what is left out, trims and lowers countries, and clears what is null`, async () => {
        const put = (body: Json) => ask('PUT', path.replace('{id}', id), body);
        const set = await put({ destination_whitelist: [' DE', 'us'], codecs: 'PCMA,G722' });
        assert.deepEqual(set.body['destination_whitelist'], ['de', 'us']);
        const kept = await put({ name: 'Out' });
        assert.deepEqual([kept.body['destination_whitelist'], kept.body['codecs']], [['de', 'us'], 'PCMA,G722']);
        const cleared = await put({ destination_whitelist: null, codecs: null });
        assert.deepEqual(
          [cleared.body['destination_whitelist'], cleared.body['codecs'], cleared.body['name']],
          [[], '', 'Out'],
        );
      });

    it('POST changes the one there is, and an admin’s list has that one', async () => {
      const posted = await make('/outbound_configs', { destination_whitelist: ['fr'] });
      assert.deepEqual([posted['id'], posted['destination_whitelist']], [id, ['fr']]);
      const { body } = await ask('GET', '/outbound_configs');
      assert.deepEqual([(body['result'] as Json[]).map(one => one['id']), body['next_page_token']], [[id], '']);
    });

    it('takes an active normal number of the account as default source, and no other', async () => {
      const put = (number: string) => ask('PUT', '/outbound_config', { default_outgoing_source_number_id: number });
      const normal = await normalNumber('+493012345670');
      assert.equal((await put(normal)).body['default_outgoing_source_number_id'], normal);
      const virtual = String((await make('/numbers', { number: '+899123450001' }))['id']);
      const deleted = await normalNumber('+493012345671', { status: 'deleted', tm_delete: timestamp() });
      for (const wrong of [virtual, deleted, newId(), 'nonsense'])
        assert.deepEqual(told(await put(wrong)), [400, 'INVALID_ARGUMENT']);
      assert.equal((await own())['default_outgoing_source_number_id'], normal);
      assert.equal((await put('')).body['default_outgoing_source_number_id'], EMPTY_ID);
    });

    for (const body of [
      { destination_whitelist: ['xx'] },
      { destination_whitelist: ['de', 'DE'] },
      { destination_whitelist: [''] },
      { destination_whitelist: ['deu'] },
      { codecs: 'PCMU, PCMA' },
      { codecs: 'PCMU,' },
      { codecs: '-x' },
      { codecs: 'x'.repeat(256) },
    ])
      it(`refuses ${JSON.stringify(body).slice(0, 50)}`, async () => {
        assert.deepEqual(told(await ask('PUT', '/outbound_config', body)), [400, 'INVALID_ARGUMENT']);
      });

    it('is deleted by no admin', async () => {
      assert.deepEqual(told(await ask('DELETE', `/outbound_configs/${id}`)), [403, 'PERMISSION_DENIED']);
    });

    it('is missing once an operator deleted it, and made anew by POST', async () => {
      assert.equal((await ask('DELETE', `/outbound_configs/${id}`, undefined, operator)).status, 200);
      assert.deepEqual(told(await ask('GET', '/outbound_config')), [404, 'OUTBOUND_CONFIG_NOT_FOUND']);
      assert.deepEqual(told(await ask('PUT', '/outbound_config', {})), [404, 'OUTBOUND_CONFIG_NOT_FOUND']);
      const made = await make('/outbound_configs', {});
      assert.notEqual(made['id'], id);
      assert.deepEqual((await own())['destination_whitelist'], []);
    });

    it('of another account is reached by an operator alone', async () => {
      const customer_id = newId();
      const customer = { id: customer_id, status: 'active', sip_label: 'xxxx', tm_create: timestamp() };
      await api.database.db('customers').insert(customer);
      const theirs = await make('/outbound_configs', { customer_id, name: 'Theirs' }, operator);
      assert.equal(theirs['customer_id'], customer_id);
      const path = `/outbound_configs/${String(theirs['id'])}`;
      assert.deepEqual(told(await ask('PUT', path, { name: 'x' })), [404, 'OUTBOUND_CONFIG_NOT_FOUND']);
      const listed = await ask('GET', `/outbound_configs?customer_id=${customer_id}`, undefined, operator);
      assert.deepEqual(
        (listed.body['result'] as Json[]).map(one => one['name']),
        ['Theirs'],
      );
      assert.deepEqual(((await ask('GET', '/outbound_configs')).body['result'] as Json[]).length, 1);
    });
  });

  describe('numbers (15)', () => {
    it('change their switches', async () => {
      const { id } = await make('/numbers', { number: '+899123450100' });
      const changed = await ask('PUT', `/numbers/${String(id)}/metadata`, { rtp_debug: true });
      assert.deepEqual(changed.body['metadata'], { rtp_debug: true });
    });

    it('that are normal are renewed where they are older than the given moment', async () => {
      const old = await normalNumber('+493012345680', { tm_renew: '2026-01-01 00:00:00' });
      await normalNumber('+493012345681');
      const before = await lastEvent();
      const answer = await ask('POST', '/numbers/renew', { tm_renew: '2026-02-01 00:00:00' }, operator);
      const renewed = answer.body as unknown as Json[];
      assert.deepEqual(
        renewed.map(one => one['id']),
        [old],
      );
      assert.ok(String(renewed[0]?.['tm_renew']) > '2026-02');
      assert.deepEqual(await lastEvent(), before);
      const wrong = await ask('POST', '/numbers/renew', { tm_renew: 'soon' }, operator);
      assert.deepEqual(told(wrong), [400, 'INVALID_ARGUMENT']);
    });

    it('are one owner’s: a taken one is ALREADY_EXISTS before anything is ordered', async () => {
      await api.database.db('customers').where({ home: true }).update({ identity_verification_status: 'verified' });
      await normalNumber('+493012345690');
      assert.deepEqual(told(await ask('POST', '/numbers', { number: '+493012345690' })), [409, 'ALREADY_EXISTS']);
      assert.deepEqual(told(await ask('POST', '/numbers', { number: '+493012345691' })), [503, 'SERVICE_UNAVAILABLE']);
    });

    for (const query of ['', '?country_code=XX', '?country_code=DEU'])
      it(`GET /available_numbers${query} is refused`, async () => {
        assert.deepEqual(told(await ask('GET', `/available_numbers${query}`)), [400, 'INVALID_ARGUMENT']);
      });
  });
});

import { strict as assert } from 'node:assert';
import { EMPTY_ID, newId } from '#contract/ids';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;

describe('contacts', () => {
  const api = apiOfTests();
  let agentToken: string;
  before(async () => {
    const agent = await addAgent(api, api.welcome.customer_id, 16);
    agentToken = await tokenOf(api, agent.username, agent.password);
  });

  let digits = 1000;
  const freshNumber = (): string => `+4930555${++digits}`;
  const create = async (body: Json, path = '/contacts'): Promise<Json> => {
    const answer = await api.request('POST', `/v1.0${path}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const call = (method: string, path: string, body?: Json): Promise<Answer> =>
    api.request(method, `/v1.0${path}`, body);
  const at = (contact: Json, rest = ''): string => `/contacts/${String(contact['id'])}${rest}`;
  const addressesOf = (contact: Json): Json[] => contact['addresses'] as Json[];
  const targets = (contact: Json): unknown[] => addressesOf(contact).map(({ target }) => target);
  const primaries = (contact: Json): unknown[] =>
    addressesOf(contact).flatMap(({ target, is_primary }) => (is_primary ? [target] : []));
  const lastEvent = async (): Promise<Json> =>
    (await api.database.db('events').orderBy('sequence', 'desc').first()) as Json;

  it('are made with addresses in their stored form, shown and told as a whole', async () => {
    const number = freshNumber();
    const written = `${number.slice(0, 3)} (${number.slice(3, 5)}) ${number.slice(5)}`;
    const contact = await create({
      first_name: 'Ada',
      addresses: [
        { type: 'tel', target: written, name: 'desk', is_primary: true },
        { type: 'email', target: ' Ada@Example.COM ' },
      ],
    });
    assert.deepEqual(targets(contact), [number, 'ada@example.com']);
    const { source, tm_update, tm_delete } = contact;
    assert.deepEqual([source, tm_update, tm_delete], ['manual', null, null]);
    assert.deepEqual((await call('GET', at(contact))).body, contact);
    const listed = (await call('GET', '/contacts')).body['result'] as Json[];
    assert.deepEqual(listed[0], contact);
    const event = await lastEvent();
    assert.deepEqual([event['event_type'], event['data']], ['contact_created', contact]);
  });

  const refused: [name: string, body: Json, reason: string][] = [
    ['an address without a type', { addresses: [{ target: '+4930' }] }, 'INVALID_ADDRESS_TYPE'],
    ['an address of type sip', { addresses: [{ type: 'sip', target: 'sip:a@b' }] }, 'INVALID_ADDRESS_TYPE'],
    ['an address without a target', { addresses: [{ type: 'tel' }] }, 'INVALID_ADDRESS_TARGET'],
    ['a number without a country', { addresses: [{ type: 'tel', target: '030555' }] }, 'INVALID_ADDRESS_TARGET'],
    ['an e-mail address without @', { addresses: [{ type: 'email', target: 'ada' }] }, 'INVALID_ADDRESS_TARGET'],
    ['an unknown source', { source: 'guess' }, 'INVALID_ARGUMENT'],
    ['a tag that is no UUID', { tag_ids: ['17'] }, 'INVALID_ARGUMENT'],
    ['a name that is a number', { first_name: 5 }, 'INVALID_JSON_BODY'],
  ];
  for (const [name, body, reason] of refused)
    it(`refuses ${name} with ${reason}, and nothing is kept`, async () => {
      const good = { type: 'email', target: `${newId()}@example.com` };
      const addresses = [good, ...((body['addresses'] as Json[] | undefined) ?? [])];
      const answer = await call('POST', '/contacts', { ...body, addresses });
      assert.deepEqual([answer.status, reasonOf(answer)], [400, reason], answer.text);
      const kept = api.database.db('contact_addresses').where('target', good.target);
      assert.equal(await kept.first(), undefined);
    });

  it('a change leaves out what it leaves out, and replaces addresses when it names them', async () => {
    const contact = await create({ first_name: 'A', notes: 'B', addresses: [{ type: 'tel', target: freshNumber() }] });
    const renamed = (await call('PUT', at(contact), { first_name: 'C' })).body;
    assert.deepEqual([renamed['first_name'], renamed['notes'], targets(renamed)], ['C', 'B', targets(contact)]);
    assert.equal((await lastEvent())['event_type'], 'contact_updated');
    const number = freshNumber();
    const moved = (await call('PUT', at(contact), { addresses: [{ type: 'tel', target: number }] })).body;
    assert.deepEqual(targets(moved), [number]);
  });

  it('an address is known once in an account, and free again when its contact is deleted', async () => {
    const target = freshNumber();
    const first = await create({ addresses: [{ type: 'tel', target }] });
    const second = await create({});
    const again = await call('POST', at(second, '/addresses'), { type: 'tel', target });
    assert.deepEqual([again.status, reasonOf(again)], [409, 'ADDRESS_ALREADY_EXISTS']);
    const other = await addAccesskey(api, await addCustomer(api));
    const elsewhere = await api.request(
      'POST',
      '/v1.0/contacts',
      { addresses: [{ type: 'tel', target }] },
      { credentials: { accesskey: other } },
    );
    assert.equal(elsewhere.status, 201, 'another account may know the same number');
    const gone = await call('DELETE', at(first));
    assert.notEqual(gone.body['tm_delete'], null);
    assert.deepEqual(targets(gone.body), [target]);
    assert.equal(reasonOf(await call('GET', at(first))), 'CONTACT_NOT_FOUND');
    const taken = await call('POST', at(second, '/addresses'), { type: 'tel', target });
    assert.deepEqual([taken.status, targets(taken.body)], [200, [target]]);
  });

  it('of the addresses of a type one is primary: setting one clears the other', async () => {
    const [one, two] = [freshNumber(), freshNumber()];
    const contact = await create({
      addresses: [
        { type: 'tel', target: one, is_primary: true },
        { type: 'email', target: `${newId()}@example.com`, is_primary: true },
        { type: 'tel', target: two },
      ],
    });
    const [first, mail, second] = addressesOf(contact);
    const path = at(contact, `/addresses/${String(second?.['id'])}`);
    const changed = await call('PUT', path, { is_primary: true, detail: 'from nine' });
    assert.deepEqual(primaries(changed.body), [mail?.['target'], two]);
    const added = await call('POST', at(contact, '/addresses'), {
      type: 'tel',
      target: freshNumber(),
      is_primary: true,
    });
    assert.deepEqual(primaries(added.body), [mail?.['target'], targets(added.body).at(-1)]);
    const removed = await call('DELETE', at(contact, `/addresses/${String(first?.['id'])}`));
    assert.equal(addressesOf(removed.body).length, 3);
    const missing = await call('DELETE', at(contact, `/addresses/${String(first?.['id'])}`));
    assert.deepEqual([missing.status, reasonOf(missing)], [404, 'ADDRESS_NOT_FOUND']);
  });

  it('tags are put on once, taken off once, and leave when they are deleted', async () => {
    const tag = (await call('POST', '/tags', { name: 'vip', detail: '' })).body['id'];
    const contact = await create({});
    for (let n = 0; n < 2; n++)
      assert.deepEqual((await call('POST', at(contact, '/tags'), { tag_id: tag })).body['tag_ids'], [tag]);
    assert.equal(reasonOf(await call('POST', at(contact, '/tags'), { tag_id: newId() })), 'TAG_NOT_FOUND');
    const path = at(contact, `/tags/${String(tag)}`);
    assert.deepEqual((await call('DELETE', path)).body['tag_ids'], []);
    const twice = await call('DELETE', path);
    assert.deepEqual([twice.status, reasonOf(twice)], [404, 'CONTACT_TAG_NOT_FOUND']);
    await call('POST', at(contact, '/tags'), { tag_id: tag });
    await call('DELETE', `/tags/${String(tag)}`);
    const event = await lastEvent();
    assert.deepEqual([event['event_type'], (event['data'] as Json)['tag_ids']], ['contact_updated', []]);
  });

  it('two tags put on in the same moment are both there', async () => {
    const tags = await Promise.all([1, 2, 3, 4].map(n => call('POST', '/tags', { name: `${n}`, detail: '' })));
    const contact = await create({});
    await Promise.all(tags.map(({ body }) => call('POST', at(contact, '/tags'), { tag_id: body['id'] })));
    assert.equal(((await call('GET', at(contact))).body['tag_ids'] as unknown[]).length, 4);
  });

  describe('lookup', () => {
    const [number, email] = ['+493066600', 'grace@example.com'];
    let contact: Json;
    before(async () => {
      contact = await create({
        addresses: [
          { type: 'tel', target: number },
          { type: 'email', target: email },
        ],
      });
      await create({ contact_id: '', type: 'tel', target: '+493066601' }, '/contact_addresses');
    });

    for (const query of ['phone=%2B493066600', 'phone=+493066600', 'phone=%2B49%2030-66600', 'email=GRACE@Example.com'])
      it(`${query} finds the contact`, async () => {
        assert.deepEqual((await call('GET', `/contacts/lookup?${query}`)).body, contact);
      });

    const failures: [query: string, status: number, reason: string][] = [
      ['', 400, 'MISSING_REQUEST_PARAMETER'],
      ['phone=', 400, 'MISSING_REQUEST_PARAMETER'],
      ['phone=abc', 400, 'INVALID_ADDRESS_TARGET'],
      ['phone=%2B493066699', 404, 'CONTACT_NOT_FOUND'],
      ['phone=%2B493066601', 404, 'CONTACT_NOT_FOUND'],
      ['email=nobody@example.com', 404, 'CONTACT_NOT_FOUND'],
    ];
    for (const [query, status, reason] of failures)
      it(`${query || 'nothing'} is ${reason}`, async () => {
        const answer = await call('GET', `/contacts/lookup?${query}`);
        assert.deepEqual([answer.status, reasonOf(answer)], [status, reason]);
      });
  });

  describe('addresses that are nobody’s yet', () => {
    const unresolved = (target: string, more: Json = {}) =>
      create({ type: 'tel', target, ...more }, '/contact_addresses');

    it('are kept with the empty contact, and are found as unresolved', async () => {
      const target = freshNumber();
      const address = await unresolved(target);
      assert.deepEqual([address['contact_id'], address['is_primary']], [EMPTY_ID, false]);
      assert.equal('tm_update' in address, false);
      const path = `/contact_addresses/${String(address['id'])}`;
      assert.deepEqual((await call('GET', path)).body, address);
      const query = `unresolved=true&type=tel&target=${encodeURIComponent(target)}`;
      assert.deepEqual((await call('GET', `/contact_addresses?${query}`)).body['result'], [address]);
      const none = await call('GET', `/contact_addresses?unresolved=false&target=${encodeURIComponent(target)}`);
      assert.deepEqual(none.body['result'], []);
      assert.equal((await call('DELETE', path)).status, 200);
      assert.equal(reasonOf(await call('GET', path)), 'ADDRESS_NOT_FOUND');
    });

    it('twenty are on a page when nobody says how many', async () => {
      for (let n = 0; n < 21; n++) await unresolved(freshNumber());
      assert.equal(((await call('GET', '/contact_addresses')).body['result'] as Json[]).length, 20);
    });

    const refusals: [name: string, body: Json, status: number, reason: string][] = [
      ['a primary one', { is_primary: true }, 400, 'INVALID_IS_PRIMARY'],
      ['a contact id that is none', { contact_id: '17' }, 400, 'INVALID_CONTACT_ID'],
      ['a contact that is not there', { contact_id: newId() }, 404, 'CONTACT_NOT_FOUND'],
      ['a session id that is no UUID', { type: 'web_session', target: 'x' }, 400, 'INVALID_ADDRESS_TARGET'],
    ];
    for (const [name, body, status, reason] of refusals)
      it(`${name} is refused with ${reason}`, async () => {
        const answer = await call('POST', '/contact_addresses', { type: 'tel', target: freshNumber(), ...body });
        assert.deepEqual([answer.status, reasonOf(answer)], [status, reason], answer.text);
      });

    for (const [query, reason] of [
      ['contact_id=17', 'INVALID_REQUEST_PARAMETER'],
      ['type=fax', 'INVALID_REQUEST_PARAMETER'],
      ['unresolved=maybe', 'INVALID_REQUEST_PARAMETER'],
    ])
      it(`the filter ${query} is ${reason}`, async () => {
        assert.equal(reasonOf(await call('GET', `/contact_addresses?${query}`)), reason);
      });

    it('are claimed by a contact, which is told; from another contact only by force', async () => {
      const target = freshNumber();
      const address = await unresolved(target);
      const path = `/contact_addresses/${String(address['id'])}/claim`;
      const [first, second] = [await create({}), await create({})];
      const claimed = await call('POST', path, { contact_id: first['id'] });
      assert.equal(claimed.body['contact_id'], first['id']);
      const event = await lastEvent();
      assert.deepEqual([event['event_type'], targets(event['data'] as Json)], ['contact_updated', [target]]);
      assert.equal((await call('POST', path, { contact_id: first['id'] })).status, 200);
      const refusal = await call('POST', path, { contact_id: second['id'] });
      assert.deepEqual([refusal.status, reasonOf(refusal)], [409, 'ADDRESS_ALREADY_CLAIMED']);
      const forced = await call('POST', path, { contact_id: second['id'], force: true });
      assert.equal(forced.body['contact_id'], second['id']);
      assert.deepEqual(targets((await call('GET', at(first))).body), []);
      assert.deepEqual(targets((await call('GET', at(second))).body), [target]);
      assert.equal(reasonOf(await call('POST', path, { contact_id: '' })), 'INVALID_CONTACT_ID');
    });

    it('become primary and change once they belong to a contact', async () => {
      const contact = await create({});
      const address = await unresolved(freshNumber(), { contact_id: contact['id'], is_primary: true });
      assert.equal(address['is_primary'], true);
      const target = freshNumber();
      const changed = await call('PUT', `/contact_addresses/${String(address['id'])}`, { target, detail: 'new' });
      assert.deepEqual([changed.body['target'], changed.body['is_primary']], [target, true]);
      assert.deepEqual(primaries((await call('GET', at(contact))).body), [target]);
    });
  });

  describe('on the agent surface', () => {
    const as = (method: string, path: string, body?: Json) =>
      api.request(method, `/v1.0/service_agents${path}`, body, { credentials: { token: agentToken } });

    it('a plain agent keeps contacts, their addresses and tags as managers do', async () => {
      const made = await as('POST', '/contacts', { display_name: 'Ada' });
      assert.equal(made.status, 201, made.text);
      const target = freshNumber();
      await as('POST', at(made.body, '/addresses'), { type: 'tel', target });
      const found = await as('GET', `/contacts/lookup?phone=${encodeURIComponent(target)}`);
      assert.equal(found.body['id'], made.body['id']);
      assert.equal((await as('PUT', at(made.body), { notes: 'x' })).body['notes'], 'x');
      assert.equal((await as('GET', '/contact_addresses?unresolved=true')).status, 200);
      assert.equal((await as('DELETE', at(made.body))).status, 200);
      assert.equal(reasonOf(await call('GET', at(made.body))), 'CONTACT_NOT_FOUND');
    });

    it('sees colleagues and tags, a short account, and changes itself', async () => {
      const me = (await as('GET', '/me')).body;
      assert.equal((await as('PUT', '/me', { name: 'Grace' })).body['name'], 'Grace');
      assert.equal((await as('PUT', '/me/status', { status: 'available' })).body['status'], 'available');
      const addresses = [{ type: 'extension', target: '1001' }];
      const changed = await as('PUT', '/me/addresses', { addresses });
      assert.equal((changed.body['addresses'] as Json[])[0]?.['target'], '1001');
      const agents = (await as('GET', '/agents')).body['result'] as Json[];
      assert.equal(agents.length, 2);
      const colleague = agents.find(({ id }) => id !== me['id']);
      assert.equal((await as('GET', `/agents/${String(colleague?.['id'])}`)).status, 200);
      assert.equal((await as('GET', '/tags')).status, 200);
      const account = await as('GET', '/customer');
      const shown = ['detail', 'id', 'name', 'tm_create', 'tm_delete', 'tm_update'];
      assert.deepEqual(Object.keys(account.body).sort(), shown);
    });

    it('gets the passwords of its own extensions, and no others', async () => {
      await as('PUT', '/me/addresses', { addresses: [{ type: 'extension', target: '1001' }] });
      const [own, other] = api.welcome.extensions;
      const listed = (await as('GET', '/extensions')).body['result'] as Json[];
      assert.deepEqual(
        listed.map(({ extension, password }) => [extension, password]),
        [['1001', own?.password]],
      );
      assert.equal((await as('GET', `/extensions/${String(own?.id)}`)).status, 200);
      assert.equal(reasonOf(await as('GET', `/extensions/${String(other?.id)}`)), 'EXTENSION_NOT_FOUND');
    });

    it('an accesskey is refused: it is nobody’s login', async () => {
      for (const path of ['/me', '/contacts', '/calls', '/agents'])
        assert.equal(reasonOf(await call('GET', `/service_agents${path}`)), 'DIRECT_ACCESS_NOT_SUPPORTED');
    });
  });
});

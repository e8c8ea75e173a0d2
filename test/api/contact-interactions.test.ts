import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import type { Address } from '#contract/address';
import type { Call } from '#contract/call';
import { EMPTY_ID, newId } from '#contract/ids';
import { fromDate } from '#contract/time';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';
import { aCall, callEntry, eventually, report } from './events-rig.ts';

type Json = Record<string, unknown>;
type Query = Record<string, string>;

const CUSTOMER = '+4930555100';
const HOUSE = '+4989444000';
const DAY_MS = 86_400_000;

const tel = (target: string): Address => ({ type: 'tel', target, target_name: '', name: '', detail: '' });
/** What a query consists of: its names, and the values that are short. */
const shape = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => (value !== '' && value.length < 7 ? `${name}=${value}` : name))
    .join(', ');
const rowsOf = (answer: Answer): Json[] => answer.body['result'] as Json[];
const idsOf = (answer: Answer): unknown[] => rowsOf(answer).map(row => row['reference_id']);
const typesOf = (answer: Answer): unknown[] => rowsOf(answer).map(row => row['event_type']);

describe('what happened with a contact', () => {
  const api = apiOfTests();
  let redis: Redis;
  let credentials: { token: string };
  let contact = '';
  let address = '';
  let called: Call;
  let calledBack: Call;

  const get = (path: string, query: Query, options?: Json): Promise<Answer> =>
    api.request('GET', `/v1.0${path}?${new URLSearchParams(query).toString()}`, undefined, options);

  const told = async (call: Call, types: Parameters<typeof callEntry>[2]): Promise<Call> => {
    await report(redis, callEntry(call, 1, types));
    await eventually('the call is written', async () =>
      Boolean(await api.database.db('calls').where({ id: call.id }).first()),
    );
    return call;
  };
  const callWith = (given: Partial<Call>): Call => aCall(api.welcome.customer_id, given);

  before(async () => {
    redis = new Redis(api.redisUrl);
    const agent = await addAgent(api, api.welcome.customer_id, 16);
    credentials = { token: await tokenOf(api, agent.username, agent.password) };
    const made = await api.request('POST', '/v1.0/contacts', { addresses: [{ type: 'tel', target: CUSTOMER }] });
    contact = String(made.body['id']);
    address = String((made.body['addresses'] as Json[])[0]?.['id']);
    const old = fromDate(new Date(Date.now() - 31 * DAY_MS));
    called = await told(
      callWith({ direction: 'incoming', source: tel(CUSTOMER), destination: tel(HOUSE), tm_create: old }),
      ['call_created', 'call_progressing', 'call_hangup'],
    );
    calledBack = await told(callWith({ source: tel(HOUSE), destination: tel(CUSTOMER) }), [
      'call_created',
      'call_dialing',
    ]);
    await told(callWith({ source: tel(CUSTOMER), destination: tel(HOUSE) }), ['call_created']);
  });
  after(() => redis.disconnect());

  const selections: [name: string, query: () => Query][] = [
    ['its id', () => ({ contact_id: contact })],
    ['its id in capitals', () => ({ contact_id: contact.toUpperCase() })],
    ['one of its addresses', () => ({ address_id: address })],
    ['its number', () => ({ peer_type: 'tel', peer_target: CUSTOMER })],
    ['its number written loosely', () => ({ peer_type: 'tel', peer_target: '+49 (30) 555-100' })],
    ['the empty id beside its number', () => ({ contact_id: EMPTY_ID, peer_type: 'tel', peer_target: CUSTOMER })],
  ];
  for (const [name, query] of selections)
    it(`is found by ${name}: one entry for each call, with what happened last`, async () => {
      const answer = await get('/contact_interactions', query());
      assert.deepEqual(idsOf(answer), [calledBack.id, called.id], answer.text);
      assert.deepEqual(typesOf(answer), ['call_dialing', 'call_hangup']);
    });

  it('shows who is outside and who is here, whoever called whom', async () => {
    const [outgoing, incoming] = rowsOf(await get('/contact_interactions', { contact_id: contact }));
    for (const row of [outgoing, incoming])
      assert.deepEqual([row?.['peer'], row?.['local'], row?.['publisher']], [tel(CUSTOMER), tel(HOUSE), 'call']);
    assert.deepEqual([outgoing?.['direction'], incoming?.['direction']], ['outgoing', 'incoming']);
    assert.deepEqual(incoming?.['data'], { ...called });
  });

  it('is told event by event too, newest first', async () => {
    const answer = await get('/contact_peer_events', { contact_id: contact });
    const own = typesOf(answer).filter((_, at) => idsOf(answer)[at] === called.id);
    assert.deepEqual(own, ['call_hangup', 'call_progressing', 'call_created']);
    assert.deepEqual(
      rowsOf(await get('/contact_peer_events', { peer_type: 'tel', peer_target: CUSTOMER })),
      rowsOf(answer),
    );
  });

  it('can be read page by page without a gap', async () => {
    for (const path of ['/contact_interactions', '/contact_peer_events']) {
      const whole = rowsOf(await get(path, { contact_id: contact }));
      const pages: Json[] = [];
      for (let page_token = ''; ;) {
        const page = await get(path, { contact_id: contact, page_size: '1', page_token });
        pages.push(...rowsOf(page));
        page_token = String(page.body['next_page_token']);
        if (page_token === '') break;
      }
      assert.deepEqual(pages, whole, path);
    }
  });

  it('reaches agents of 30 days, or of as many as they ask for', async () => {
    const seen = async (query: Query) =>
      idsOf(await get('/service_agents/contact_interactions', { contact_id: contact, ...query }, { credentials }));
    assert.deepEqual(await seen({}), [calledBack.id]);
    assert.deepEqual(await seen({ since: '180d' }), [calledBack.id, called.id]);
    assert.deepEqual(await seen({ since: '1d' }), [calledBack.id]);
    const events = await get('/service_agents/contact_peer_events', { contact_id: contact }, { credentials });
    assert.ok(idsOf(events).includes(called.id), events.text);
  });

  const peer = { peer_type: 'tel', peer_target: CUSTOMER };
  const someone = newId();
  const refused: [path: string, query: () => Query, reason: string][] = [
    ['/contact_interactions', () => ({}), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ contact_id: contact, ...peer }), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ contact_id: contact, address_id: address }), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ peer_type: 'tel' }), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ peer_target: CUSTOMER }), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ ...peer, peer_type: 'pigeon' }), 'INVALID_FILTER'],
    ['/contact_interactions', () => ({ contact_id: 'x' }), 'INVALID_REQUEST_PARAMETER'],
    ['/contact_interactions', () => ({ contact_id: someone }), 'CONTACT_NOT_FOUND'],
    ['/contact_interactions', () => ({ address_id: someone }), 'ADDRESS_NOT_FOUND'],
    ['/contact_peer_events', () => ({}), 'INVALID_FILTER'],
    ['/contact_peer_events', () => ({ address_id: address }), 'INVALID_FILTER'],
    ['/contact_peer_events', () => ({ contact_id: contact, ...peer }), 'INVALID_FILTER'],
    ['/contact_peer_events', () => ({ contact_id: someone }), 'CONTACT_NOT_FOUND'],
    ...['0d', '181d', '7', 'd', '-1d', '1.5d', '7D', '01d'].map((since): [string, () => Query, string] => [
      '/service_agents/contact_interactions',
      () => ({ ...peer, since }),
      'INVALID_SINCE',
    ]),
  ];
  for (const [path, query, reason] of refused)
    it(`GET ${path} with ${shape(query()) || 'nothing'} is refused: ${reason}`, async () => {
      const options = path.startsWith('/service_agents') ? { credentials } : {};
      const answer = await get(path, query(), options);
      assert.equal(reasonOf(answer), reason, answer.text);
    });

  it('is refused for a contact without addresses', async () => {
    const bare = await api.request('POST', '/v1.0/contacts', {});
    const answer = await get('/contact_interactions', { contact_id: String(bare.body['id']) });
    assert.equal(reasonOf(answer), 'CONTACT_HAS_NO_ADDRESSES');
  });

  it('is nobody else’s to see: not the contact, not the address, not the calls', async () => {
    const stranger = { accesskey: await addAccesskey(api, await addCustomer(api)) };
    const ask = (query: Query) => get('/contact_interactions', query, { credentials: stranger });
    assert.equal(reasonOf(await ask({ contact_id: contact })), 'CONTACT_NOT_FOUND');
    assert.equal(reasonOf(await ask({ address_id: address })), 'ADDRESS_NOT_FOUND');
    assert.deepEqual(rowsOf(await ask(peer)), []);
  });

  it('goes with the call when that is deleted', async () => {
    const gone = await told(callWith({ destination: tel('+4930555199') }), ['call_created']);
    const query = { peer_type: 'tel', peer_target: '+4930555199' };
    assert.deepEqual(idsOf(await get('/contact_peer_events', query)), [gone.id]);
    await api.database.db('calls').where({ id: gone.id }).update({ tm_delete: new Date() });
    assert.deepEqual(rowsOf(await get('/contact_peer_events', query)), []);
    assert.deepEqual(rowsOf(await get('/contact_interactions', query)), []);
  });
});

import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { TrunklineClient } from '../../client/client.ts';
import { apiOfTests, clientOf, refusalOf } from '../support/api.ts';
import { addCustomer } from '../support/people.ts';

const DAY_S = 86_400;
const YEAR_S = 365 * DAY_S;

const seconds = (from: string, to: string): number => (Date.parse(`${to}Z`) - Date.parse(`${from}Z`)) / 1000;

/** Row by row accounts-and-plumbing 10. */
describe('accesskeys', () => {
  const api = apiOfTests();
  let admin: TrunklineClient;
  before(() => {
    admin = clientOf(api);
  });
  const made = (body: { name?: string; detail?: string; expire?: number } = {}) =>
    admin.call('create_accesskey', { body });
  const bearing = (accesskey: string): TrunklineClient => clientOf(api, { accesskey });
  const eventsNow = () => api.database.db('events').count<{ count: string }[]>().first();

  it('token form: three constant characters and 32 random ones, shown by the creation alone', async () => {
    const [first, second] = [await made(), await made()];
    for (const { token } of [first, second]) assert.match(token, /^[a-z]{2}_[A-Za-z0-9_-]{32}$/);
    assert.equal(first.token.slice(0, 3), second.token.slice(0, 3));
    assert.notEqual(first.token, second.token);
    const params = { id: first.id };
    const later = [
      await admin.call('get_accesskey', { params }),
      await admin.call('update_accesskey', { params, body: { name: 'x' } }),
      ...(await admin.call('list_accesskeys')).result,
      await admin.call('delete_accesskey', { params }),
    ];
    for (const key of later) assert.equal('token' in key, false);
    assert.equal(later[0]?.token_prefix, first.token.slice(0, 11));
  });

  it('stored as a hash only, and told in no event', async () => {
    const before = await eventsNow();
    const { token } = await made();
    const rows = JSON.stringify(await api.database.db('accesskeys').select('*'));
    assert.ok(!rows.includes(token) && !rows.includes(token.slice(12)));
    assert.deepEqual(await eventsNow(), before);
  });

  for (const [what, expire, lasts] of [
    ['left out: a year', undefined, YEAR_S],
    ['a day, the least', DAY_S, DAY_S],
    ['ten years', 10 * YEAR_S, 10 * YEAR_S],
  ] as const)
    it(`expire ${what}`, async () => {
      const { tm_create, tm_expire } = await made(expire === undefined ? {} : { expire });
      assert.ok(Math.abs(seconds(tm_create, tm_expire) - lasts) < 5, `${tm_create} to ${tm_expire}`);
    });

  for (const expire of [0, -1, DAY_S - 1, 1.5, 101 * YEAR_S])
    it(`expire ${expire} is INVALID_ARGUMENT`, async () => {
      assert.match(String(await refusalOf(made({ expire }))), /^INVALID_(ARGUMENT|JSON_BODY)$/);
    });

  it('update: name and detail, each alone; expiry and token never', async () => {
    const key = await made({ name: 'CI', detail: 'builds' });
    const params = { id: key.id };
    const renamed = await admin.call('update_accesskey', { params, body: { name: 'CD' } });
    assert.deepEqual([renamed.name, renamed.detail], ['CD', 'builds']);
    const body = { detail: 'releases', expire: DAY_S, tm_expire: '2999-01-01 00:00:00.000000', token: 'x' };
    const after = await admin.call('update_accesskey', { params, body });
    const { name, detail, tm_expire, token_prefix } = after;
    assert.deepEqual([name, detail, tm_expire, token_prefix], ['CD', 'releases', key.tm_expire, key.token_prefix]);
    await bearing(key.token).call('list_flows');
  });

  it('delete: the record comes back, and the key is refused at once and no longer listed', async () => {
    const key = await made();
    const own = bearing(key.token);
    const gone = await own.call('delete_accesskey', { params: { id: key.id } });
    assert.deepEqual([gone.id, gone.tm_delete > key.tm_create], [key.id, true]);
    assert.equal(await refusalOf(own.call('list_flows')), 'INVALID_CREDENTIALS');
    const listed = (await admin.call('list_accesskeys')).result.map(({ id }) => id);
    assert.equal(listed.includes(key.id), false);
    const again = admin.call('delete_accesskey', { params: { id: key.id } });
    assert.equal(await refusalOf(again), 'ACCESSKEY_NOT_FOUND');
  });

  it('expired: refused, and still listed', async () => {
    const key = await made({ expire: DAY_S });
    await api.database.db('accesskeys').where({ id: key.id }).update({ tm_expire: timestamp() });
    assert.equal(await refusalOf(bearing(key.token).call('list_flows')), 'INVALID_CREDENTIALS');
    const listed = (await admin.call('list_accesskeys')).result.map(({ id }) => id);
    assert.equal(listed.includes(key.id), true);
  });

  it('number of keys: unlimited, whatever the plan', async () => {
    const customer = await addCustomer(api, { plan_type: 'free' });
    await api.database
      .db('accesskeys')
      .where({ id: (await made()).id })
      .update({ customer_id: customer });
    const { token } = await made();
    await api.database
      .db('accesskeys')
      .where({ token_prefix: token.slice(0, 11) })
      .update({ customer_id: customer });
    const tenant = bearing(token);
    await Promise.all(Array.from({ length: 30 }, () => tenant.call('create_accesskey', { body: {} })));
    assert.equal((await tenant.call('list_accesskeys')).result.length, 32);
  });

  it('path id not found: ACCESSKEY_NOT_FOUND', async () => {
    const params = { id: newId() };
    const reasons = await Promise.all([
      refusalOf(admin.call('get_accesskey', { params })),
      refusalOf(admin.call('update_accesskey', { params, body: {} })),
      refusalOf(admin.call('delete_accesskey', { params })),
    ]);
    assert.deepEqual([...new Set(reasons)], ['ACCESSKEY_NOT_FOUND']);
  });

  it('usable while the account is initial: that of a signup works at once, for a year', async () => {
    const body = { email: `${newId()}@example.com`, accepted_tos: true as const };
    const { customer, accesskey } = await clientOf(api, {}).call('signup', { body });
    assert.equal(customer?.status, 'initial');
    assert.deepEqual([accesskey?.name, accesskey?.detail], ['default', 'Auto-provisioned API key']);
    const { tm_create = '', tm_expire = '', token = '' } = accesskey ?? {};
    assert.ok(Math.abs(seconds(tm_create, tm_expire) - YEAR_S) < 5);
    assert.deepEqual((await bearing(token).call('list_flows')).result, []);
  });
});

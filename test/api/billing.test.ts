import { strict as assert } from 'node:assert';
import { pino } from 'pino';
import { RATES, type PlanType } from '#contract/billing';
import { EMPTY_ID, newId } from '#contract/ids';
import { NEVER, timestamp } from '#contract/time';
import { freezeCustomer, recoverCustomer, removeCustomer } from '../../control-api/customers/states.ts';
import { openCustomer } from '../../control-api/customers/open.ts';
import { renewNumbers } from '../../control-api/resources/number-renewal.ts';
import { startTestApi, reasonOf, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;
type Credentials = NonNullable<ApiRequest['credentials']>;

/** A customer of its own, and its accesskey. */
interface Payer {
  customer_id: string;
  account: string;
  credentials: Credentials;
}

describe('billing accounts and what they pay (accounts-and-plumbing 14)', () => {
  let api: TestApi;
  let operator: Credentials;
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi({ CARRIER: 'manual' });
    operator = { token: await tokenOf(api, api.welcome.username, api.welcome.password) };
  });
  after(() => api.stop());

  const ask = (method: string, path: string, body?: unknown, credentials?: Credentials): Promise<Answer> =>
    api.request(method, `/v1.0${path}`, body, credentials ? { credentials } : {});
  const payer = async (plan_type: PlanType = 'free', more: Json = {}): Promise<Payer> => {
    const customer_id = await addCustomer(api, { plan_type, identity_verification_status: 'verified', ...more });
    const row = await api.database.db('billing_accounts').where({ customer_id }).first<{ id: string }>('id');
    return { customer_id, account: row.id, credentials: { accesskey: await addAccesskey(api, customer_id) } };
  };
  const accountOf = async ({ account }: Payer): Promise<Json> =>
    (await ask('GET', `/billing_accounts/${account}`, undefined, operator)).body;
  const add = (who: Payer, balance: number): Promise<Answer> =>
    ask('POST', `/billing_accounts/${who.account}/balance_add_force`, { balance }, operator);
  const ledger = async ({ credentials }: Payer, query = ''): Promise<Json[]> =>
    (await ask('GET', `/billings${query}`, undefined, credentials)).body['result'] as Json[];
  const told = (answer: Answer): unknown[] => [answer.status, reasonOf(answer)];
  /** A normal number of somebody, entered by a super admin of theirs, who alone may without a carrier. */
  const superAdminOf = async ({ customer_id }: Payer): Promise<Credentials> => {
    const { username, password } = await addAgent(api, customer_id, 33);
    return { token: await tokenOf(api, username, password) };
  };
  let last = 5550100;
  const number = (): string => `+1${(last += 1)}000`;

  describe('a fresh installation', () => {
    it('pays with an account that is refused nothing, and names it', async () => {
      const { body: account } = await ask('GET', '/billing_account');
      const facts = ['name', 'plan_type', 'payment_type', 'balance_credit', 'balance_token', 'tm_next_topup'];
      const values = ['basic billing account', 'unlimited', 'prepaid', 0, 100, NEVER];
      assert.deepEqual(
        facts.map(name => account[name]),
        values,
      );
      const { body: customer } = await ask('GET', '/customer');
      assert.equal(customer['billing_account_id'], account['id']);
    });
  });

  describe('the account of a new customer', () => {
    it('is free, prepaid, with 100 tokens until the first of next month', async () => {
      const opened = await api.database.db.transaction(trx =>
        openCustomer(trx, { email: `${newId()}@example.com`, status: 'active' }, 'req'),
      );
      const customer_id = opened.customer.id;
      const credentials = { accesskey: await addAccesskey(api, customer_id) };
      const { body } = await ask('GET', '/billing_account', undefined, credentials);
      const { id, tm_create, tm_update, tm_next_topup, ...rest } = body;
      assert.deepEqual(rest, {
        customer_id,
        name: 'basic billing account',
        detail: '',
        plan_type: 'free',
        plan_status: 'active',
        balance_credit: 0,
        balance_token: 100,
        payment_type: 'prepaid',
        payment_method: '',
        tm_last_topup: NEVER,
        tm_delete: NEVER,
      });
      assert.ok(String(tm_next_topup) > String(tm_create) && String(tm_update) >= String(tm_create));
      assert.match(String(tm_next_topup), /-01 00:00:00\.000000$/);
      assert.equal(opened.customer['billing_account_id'], id);
    });

    it('is named, described and paid as its admins say, and nobody else’s money is theirs to move', async () => {
      const own = await payer();
      const named = await ask('PUT', '/billing_account', { name: 'Ours', detail: 'x' }, own.credentials);
      assert.deepEqual([named.body['name'], named.body['detail']], ['Ours', 'x']);
      const way = { payment_method: 'credit card' };
      const paid = await ask('PUT', '/billing_account/payment_info', way, own.credentials);
      assert.deepEqual([paid.body['payment_type'], paid.body['payment_method']], ['prepaid', 'credit card']);
      const wrong = await ask('PUT', '/billing_account/payment_info', { payment_type: 'gold' }, own.credentials);
      assert.deepEqual(told(wrong), [400, 'INVALID_ARGUMENT']);
      const ignored = await ask('PUT', '/billing_account', { balance_credit: 9, plan_type: 'basic' }, own.credentials);
      assert.deepEqual([ignored.body['balance_credit'], ignored.body['plan_type']], [0, 'free']);
    });

    it('is the only one its customer sees under /billing-accounts; super admins see all, with their status', async () => {
      const [own, other] = [await payer(), await payer()];
      const { body: mine } = await ask('GET', '/billing-accounts', undefined, own.credentials);
      assert.deepEqual(
        (mine['result'] as Json[]).map(account => [account['id'], account['status']]),
        [[own.account, undefined]],
      );
      assert.equal((await ask('GET', `/billing-accounts/${own.account}`, undefined, own.credentials)).status, 200);
      const foreign = await ask('GET', `/billing-accounts/${other.account}`, undefined, own.credentials);
      assert.deepEqual(told(foreign), [404, 'BILLING_ACCOUNT_NOT_FOUND']);
      for (const path of ['/billing_accounts', '/billing-accounts']) {
        const { body } = await ask('GET', path, undefined, operator);
        const [first, second] = body['result'] as Json[];
        assert.deepEqual([first?.['id'], first?.['status']], [other.account, 'active']);
        assert.equal(second?.['id'], own.account);
      }
    });

    it('can be chosen by its customer, when it is its own', async () => {
      const [own, other] = [await payer(), await payer()];
      const path = '/customer/billing_account_id';
      const chosen = await ask('PUT', path, { billing_account_id: own.account }, own.credentials);
      assert.deepEqual([chosen.status, chosen.body['billing_account_id']], [200, own.account]);
      const foreign = await ask('PUT', path, { billing_account_id: other.account }, own.credentials);
      assert.deepEqual(told(foreign), [404, 'BILLING_ACCOUNT_NOT_FOUND']);
    });

    it('stands still while its customer is frozen, and is gone with it', async () => {
      const own = await payer();
      const { context } = api.app;
      await freezeCustomer(context, own.customer_id, 'req');
      assert.equal((await accountOf(own))['status'], 'frozen');
      await recoverCustomer(context, own.customer_id, 'req');
      assert.equal((await accountOf(own))['status'], 'active');
      await removeCustomer(context, own.customer_id, 'req');
      const row = await api.database.db('billing_accounts').where('id', own.account).first<Json>();
      assert.equal(row['status'], 'deleted');
      assert.ok(row['tm_delete']);
      const history = await api.database.db('billings').where('account_id', own.account).whereNull('tm_delete');
      assert.equal(history.length, 1);
    });
  });

  describe('credit by the word of an operator', () => {
    for (const [path, verb, balance, credit] of [
      ['billing_accounts', 'balance_add_force', 12.5, 12_500_000],
      ['billing_accounts', 'balance_subtract_force', 0.25, -250_000],
      ['billing-accounts', 'balance-add', 0.0000015, 2],
      ['billing-accounts', 'balance-subtract', 1, -1_000_000],
      ['billing-accounts', 'balance-add', 0, 0],
    ] as const)
      it(`POST /${path}/{id}/${verb} of ${balance} USD moves ${credit} micros, and the ledger says so`, async () => {
        const own = await payer();
        const answer = await ask('POST', `/${path}/${own.account}/${verb}`, { balance }, operator);
        assert.deepEqual([answer.status, answer.body['balance_credit']], [200, credit]);
        const [entry] = await ledger(own, '?reference_type=credit_adjustment');
        const facts = ['transaction_type', 'status', 'amount_credit', 'amount_token', 'balance_credit_snapshot'];
        assert.deepEqual(
          facts.map(name => entry?.[name]),
          ['adjustment', 'end', credit, 0, credit],
        );
      });

    for (const balance of [-1, '5', undefined, 1e12])
      it(`a balance of ${balance} is refused and moves nothing`, async () => {
        const own = await payer();
        const answer = await ask('POST', `/billing-accounts/${own.account}/balance-add`, { balance }, operator);
        assert.equal(answer.status, 400);
        assert.equal((await accountOf(own))['balance_credit'], 0);
      });

    it('comes once, however often a request with an Idempotency-Key is repeated', async () => {
      const own = await payer();
      const headers = { 'Idempotency-Key': newId() };
      const path = `/v1.0/billing-accounts/${own.account}/balance-add`;
      const once = () => api.request('POST', path, { balance: 3 }, { credentials: operator, headers });
      const answers = [await once(), await once()];
      assert.deepEqual(
        answers.map(answer => answer.body['balance_credit']),
        [3_000_000, 3_000_000],
      );
      assert.equal((await accountOf(own))['balance_credit'], 3_000_000);
    });

    it('twenty additions at once all count', async () => {
      const own = await payer();
      await Promise.all(Array.from({ length: 20 }, () => add(own, 0.01)));
      assert.equal((await accountOf(own))['balance_credit'], 200_000);
    });

    it('a plan changes by the word of a super admin, and gives its tokens at once', async () => {
      const own = await payer();
      const path = `/billing_accounts/${own.account}`;
      const answer = await ask('PUT', path, { plan_type: 'basic' }, operator);
      assert.deepEqual([answer.body['plan_type'], answer.body['balance_token']], ['basic', 1000]);
      const free = await ask('PUT', path, { plan_type: 'unlimited', name: 'Big' }, operator);
      const facts = ['plan_type', 'balance_token', 'name', 'tm_next_topup'];
      assert.deepEqual(
        facts.map(name => free.body[name]),
        ['unlimited', 1000, 'Big', NEVER],
      );
      assert.equal((await ask('PUT', path, { plan_type: 'golden' }, operator)).status, 400);
    });
  });

  describe('the ledger', () => {
    it('shows a customer its own entries, newest first, narrowed by filters, one by one', async () => {
      const [own, other] = [await payer(), await payer()];
      await add(own, 1);
      await add(other, 2);
      const entries = await ledger(own);
      assert.deepEqual(
        entries.map(entry => entry['reference_type']),
        ['credit_adjustment', 'monthly_allowance'],
      );
      assert.equal((await ledger(own, '?transaction_type=top_up')).length, 1);
      const [entry] = entries;
      const one = await ask('GET', `/billings/${String(entry?.['id'])}`, undefined, own.credentials);
      assert.deepEqual(one.body, entry);
      const foreign = await ask('GET', `/billings/${String(entry?.['id'])}`, undefined, other.credentials);
      assert.deepEqual(told(foreign), [404, 'BILLING_NOT_FOUND']);
    });
  });

  describe('numbers', () => {
    it('a normal number is not sold to an account without its price, and nothing is charged', async () => {
      const own = await payer();
      const admin = await superAdminOf(own);
      await add(own, 4.999999);
      const refused = await ask('POST', '/numbers', { number: number() }, admin);
      assert.deepEqual(told(refused), [402, 'INSUFFICIENT_BALANCE']);
      assert.equal((await accountOf(own))['balance_credit'], 4_999_999);
    });

    it('a normal number is charged in the moment it is had, a virtual one never', async () => {
      const own = await payer();
      const admin = await superAdminOf(own);
      const virtual = await ask('POST', '/numbers', { number: '+899123450001' }, admin);
      assert.equal(virtual.status, 200, virtual.text);
      await add(own, 5);
      const bought = await ask('POST', '/numbers', { number: number() }, admin);
      assert.equal(bought.status, 200, bought.text);
      assert.equal((await accountOf(own))['balance_credit'], 0);
      const [entry, ...others] = await ledger(own, '?transaction_type=usage');
      assert.deepEqual(others, []);
      const facts = ['reference_type', 'reference_id', 'cost_type', 'billable_units', 'amount_credit', 'status'];
      assert.deepEqual(
        facts.map(name => entry?.[name]),
        ['number', bought.body['id'], 'number', 1, -5_000_000, 'end'],
      );
    });

    const NOW = '2999-01-01 00:00:00.000000';
    const renewal = () => ({ ...api.app.context, rates: RATES, log: pino({ level: 'silent' }) });
    /** A normal number of somebody that was last renewed long ago. */
    const old = async ({ customer_id }: Payer): Promise<string> => {
      const id = newId();
      const row = { customer_id, number: number(), type: 'normal', status: 'active', name: '', detail: '' };
      const times = { tm_create: timestamp(), tm_purchase: timestamp(), tm_renew: '2026-01-01 00:00:00.000000' };
      await api.database.db('numbers').insert({ id, ...row, ...times });
      return id;
    };
    const isLive = async (id: string): Promise<boolean> =>
      (await api.database.db('numbers').where({ id }).first<Json>())['tm_delete'] === null;

    it('renewal is paid once a month, and a number that is not paid for is given up and told so', async () => {
      const own = await payer();
      await add(own, 7);
      const [first, second] = [await old(own), await old(own)];
      const renewed = await renewNumbers(renewal(), '2026-02-01 00:00:00.000000');
      assert.deepEqual(
        renewed.map(row => row.id),
        [first],
      );
      assert.deepEqual([await isLive(first), await isLive(second)], [true, false]);
      assert.equal((await accountOf(own))['balance_credit'], 2_000_000);
      const event = await api.database.db('events').where('resource_id', second).first<Json>();
      assert.deepEqual([event['event_type'], (event['data'] as Json)['status']], ['number_deleted', 'deleted']);
      await renewNumbers(renewal(), NOW);
      assert.equal(await isLive(first), true, 'this month is paid');
      assert.equal((await accountOf(own))['balance_credit'], 2_000_000);
      assert.equal((await ledger(own, '?cost_type=number_renew')).length, 1);
      await api.database.db('numbers').where('id', first).del();
    });

    it('numbers of a frozen account wait, those of an unlimited one are renewed into debt', async () => {
      const [frozen, unlimited] = [await payer(), await payer('unlimited')];
      await api.database.db('billing_accounts').where('id', frozen.account).update({ status: 'frozen' });
      const ids = [await old(frozen), await old(unlimited)];
      const answer = await ask('POST', '/numbers/renew', { tm_renew: '2026-02-01 00:00:00' }, operator);
      assert.deepEqual(
        (answer.body as unknown as Json[]).map(row => row['id']),
        [ids[1]],
      );
      assert.deepEqual(await Promise.all(ids.map(isLive)), [true, true]);
      assert.equal((await accountOf(unlimited))['balance_credit'], -5_000_000);
    });
  });

  describe('what the plan free allows (14.5)', () => {
    let own: Payer;
    let admin: Credentials;
    before(async () => {
      own = await payer();
      admin = own.credentials;
    });
    const phone = (nth: number) => ({ extension: `${2000 + nth}`, password: 'Aa1!aaaaaaaa', name: '', detail: '' });
    const person = () => ({
      ...{ username: `${newId()}@example.com`, password: 'a long password', name: 'A', detail: '' },
      ...{ ring_method: 'ringall', permission: 16, tag_ids: [], addresses: [] },
    });
    const line = () => ({
      ...{ domain_name: `t${newId().slice(0, 8)}`, auth_types: ['basic'], username: 'pbx', password: 'a secret' },
      ...{ name: '', detail: '', allowed_ips: [] },
    });
    const queue = () => ({
      ...{ name: 'Q', detail: '', routing_method: 'random', tag_ids: [] },
      ...{ wait_flow_id: EMPTY_ID, wait_timeout: 0, service_timeout: 0 },
    });
    const cases: [path: string, most: number, body: (nth: number) => unknown][] = [
      ['/queues', 2, queue],
      ['/extensions', 5, phone],
      ['/agents', 5, person],
      ['/trunks', 1, line],
      ['/numbers', 5, nth => ({ number: `+89955500000${nth}` })],
    ];
    for (const [path, most, body] of cases)
      it(`${most} at ${path}, however many come at once; one goes and another may come`, async () => {
        const answers = await Promise.all(
          Array.from({ length: most + 2 }, (_, nth) => ask('POST', path, body(nth), admin)),
        );
        const made = answers.filter(answer => answer.status === 200);
        const refused = answers.filter(answer => answer.status !== 200);
        assert.equal(made.length, most, refused[0]?.text);
        for (const answer of refused) assert.deepEqual(told(answer), [429, 'RESOURCE_LIMIT_EXCEEDED']);
        await ask('DELETE', `${path}/${String(made[0]?.body['id'])}`, undefined, admin);
        assert.equal((await ask('POST', path, body(9), admin)).status, 200);
      });

    it('a higher plan allows more at once, and unlimited anything', async () => {
      const grown = await payer();
      const make = () => ask('POST', '/queues', queue(), grown.credentials);
      const setPlan = (plan_type: string) =>
        api.database.db('billing_accounts').where('id', grown.account).update({ plan_type });
      const statuses: number[] = [];
      for (const plan of ['free', 'basic', 'unlimited']) {
        await setPlan(plan);
        const answers = await Promise.all(Array.from({ length: 11 }, make));
        statuses.push(answers.filter(({ status }) => status === 200).length);
      }
      assert.deepEqual(statuses, [2, 8, 11]);
    });

    it('flows are not counted', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => ask('POST', '/flows', { name: 'f', actions: [] }, admin)),
      );
      assert.ok(answers.every(answer => answer.status === 200));
    });

    it('and two rooms: the third is refused before anybody opens it', async () => {
      const { customer_id } = own;
      for (const status of ['progressing', 'starting', 'terminated']) {
        const data = { id: newId(), customer_id, status, tm_create: timestamp(), tm_delete: NEVER };
        const row = { id: data.id, customer_id, version: 1, data, tm_create: timestamp() };
        await api.database.db('conferences').insert(row);
      }
      const answer = await ask('POST', '/conferences', { type: 'conference' }, admin);
      assert.deepEqual(told(answer), [429, 'RESOURCE_LIMIT_EXCEEDED']);
    });
  });
});

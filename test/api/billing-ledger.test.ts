import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { pino } from 'pino';
import { costOf, minutesOf, RATES, secondsBetween, SYSTEM_CUSTOMER } from '#contract/billing';
import type { Call } from '#contract/call';
import type { LiveEntry, LiveEventType } from '#contract/events';
import { newId } from '#contract/ids';
import type { LiveKind } from '#contract/keys';
import { fromDate, timestamp, toMillis, type Timestamp } from '#contract/time';
import { adjust, charge, lockAccountOf, openAccount, type ReferenceType } from '../../control-api/billing/ledger.ts';
import { costTypeOf, meter } from '../../control-api/billing/meters.ts';
import { queryOf } from '../../control-api/billing/query.ts';
import type { Transaction } from '../../control-api/db.ts';
import { Projector } from '../../control-api/events/projector.ts';
import { topUpAccounts } from '../../control-api/jobs/top-up.ts';
import { aCall, addCustomer, callEntry, eventually, openRig, report, type EventRig } from './events-rig.ts';

type Json = Record<string, unknown>;

const address = (type: Call['source']['type'], target: string): Call['source'] => ({
  type,
  target,
  target_name: '',
  name: '',
  detail: '',
});

const later = (start: Timestamp, seconds: number): Timestamp => fromDate(new Date(toMillis(start) + seconds * 1000));
const quiet = pino({ level: 'silent' });
const START = '2026-03-01 10:00:00.000000';

describe('the ledger of a customer (accounts-and-plumbing 14)', function () {
  this.timeout(60_000);
  let rig: EventRig;
  before(async () => {
    rig = await openRig();
  });
  after(() => rig.close());

  /** A customer that pays; resolves with its id. */
  const payer = async (plan_type: 'free' | 'unlimited' = 'free'): Promise<string> => {
    const customer_id = await addCustomer(rig.db);
    const account = { id: newId(), customer_id, plan_type };
    await rig.db.transaction(async trx => {
      await trx('customers').where('id', customer_id).update({ billing_account_id: account.id });
      await openAccount(trx, account);
    });
    return customer_id;
  };
  const work = <T>(of: (trx: Transaction) => Promise<T>): Promise<T> => rig.db.transaction(of);
  const balanceOf = async (customer_id: string): Promise<[token: number, credit: number]> => {
    const row = await rig.db('billing_accounts').where({ customer_id }).first<Json>();
    return [Number(row['balance_token']), Number(row['balance_credit'])];
  };
  const entriesOf = (customer_id: string): Promise<Json[]> =>
    rig.db('billings').where({ customer_id }).orderBy('tm_create');
  const usagesOf = async (customer_id: string): Promise<Json[]> =>
    (await entriesOf(customer_id)).filter(entry => entry['transaction_type'] === 'usage');
  const sumOf = async (customer_id: string): Promise<[token: number, credit: number]> => {
    const entries = await entriesOf(customer_id);
    const sum = (name: string): number => entries.reduce((total, entry) => total + Number(entry[name]), 0);
    return [sum('amount_token'), sum('amount_credit')];
  };
  const adjustBy = (customer_id: string, micros: number, key = newId()): Promise<boolean> =>
    work(async trx => {
      const account = await lockAccountOf(queryOf(trx), customer_id);
      return !!account && adjust(queryOf(trx), account, micros, key);
    });
  const buy = (customer_id: string, id: string, reference_type: ReferenceType & ('sms' | 'email'), units: number) =>
    work(async trx => {
      const account = await lockAccountOf(queryOf(trx), customer_id);
      const what = { reference_type, reference_id: id, cost_type: reference_type, units };
      return !!account && charge(queryOf(trx), RATES, account, what);
    });
  const drain = (customer_id: string, tokens: number): Promise<unknown> =>
    rig.db('billing_accounts').where({ customer_id }).update({ balance_token: tokens });

  /** A change as media-app reports it. */
  const entry = (kind: LiveKind, customer_id: string, id: string, events: [string, Timestamp][], data: object) =>
    ({
      kind,
      id,
      version: 1,
      customer_id,
      data: { id, customer_id, tm_create: START, ...data },
      events: events.map(([event_type, at]) => ({
        id: newId(),
        event_type: event_type as LiveEventType,
        timestamp: at,
      })),
      request_id: '',
    }) as unknown as LiveEntry;
  const tell = (...entries: LiveEntry[]): Promise<void> =>
    work(trx => meter(queryOf(trx), RATES, entries as Parameters<typeof meter>[2]));

  const OWN = address('extension', '1001');
  const PHONE = address('tel', '+15550100');
  const VIRTUAL = address('tel', '+899123456789');
  const SIP = address('sip', 'sip:a@b');
  for (const [direction, source, destination, cost_type] of [
    ['incoming', PHONE, VIRTUAL, 'call_vn'],
    ['incoming', OWN, VIRTUAL, 'call_vn'],
    ['incoming', PHONE, PHONE, 'call_pstn_incoming'],
    ['incoming', SIP, OWN, 'call_direct_ext'],
    ['incoming', OWN, OWN, 'call_extension'],
    ['incoming', OWN, PHONE, 'call_extension'],
    ['incoming', OWN, address('conference', 'x'), 'call_extension'],
    ['outgoing', OWN, PHONE, 'call_pstn_outgoing'],
    ['outgoing', OWN, VIRTUAL, 'call_pstn_outgoing'],
    ['outgoing', OWN, OWN, 'call_extension'],
    ['outgoing', PHONE, SIP, 'call_extension'],
    ['outgoing', PHONE, address('agent', 'x'), 'call_extension'],
  ] as const)
    it(`an ${direction} call from ${source.type} to ${destination.target} is charged as ${cost_type}`, () =>
      assert.equal(costTypeOf({ direction, source, destination }), cost_type));

  it('a new account has 100 tokens, no credit, and an entry that says so', async () => {
    const customer = await payer();
    assert.deepEqual(await balanceOf(customer), [100, 0]);
    const [first, ...others] = await entriesOf(customer);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [first?.['transaction_type'], first?.['reference_type'], first?.['amount_token'], first?.['status']],
      ['top_up', 'monthly_allowance', 100, 'end'],
    );
  });

  for (const [seconds, units, tokens, left, credit] of [
    [1, 1, 100, 99, 0],
    [60, 1, 100, 99, 0],
    [61, 2, 100, 98, 0],
    [150, 3, 2, 0, -1_000],
    [0, 0, 100, 100, 0],
  ] as const)
    it(`${seconds} seconds on a virtual number with ${tokens} tokens are ${units} minutes: ${left} tokens left, credit ${credit}`, async () => {
      const customer = await payer();
      await drain(customer, tokens);
      const id = newId();
      const call = { direction: 'incoming', source: PHONE, destination: VIRTUAL, tm_progressing: START };
      await tell(entry('call', customer, id, [['call_progressing', START]], call));
      assert.equal((await usagesOf(customer))[0]?.['status'], 'progressing');
      assert.deepEqual(await balanceOf(customer), [tokens, 0]);
      const tm_hangup = later(START, seconds);
      await tell(entry('call', customer, id, [['call_hangup', tm_hangup]], { ...call, tm_hangup }));
      const [billing] = await usagesOf(customer);
      const facts = ['status', 'reference_type', 'reference_id', 'cost_type', 'usage_duration', 'billable_units'];
      assert.deepEqual(
        facts.map(name => billing?.[name]),
        ['end', 'call', id, 'call_vn', seconds, units],
      );
      assert.deepEqual([billing?.['tm_billing_start'], billing?.['tm_billing_end']], [START, tm_hangup]);
      assert.deepEqual([billing?.['balance_token_snapshot'], billing?.['balance_credit_snapshot']], [left, credit]);
      assert.deepEqual(await balanceOf(customer), [left, credit]);
    });

  it('a call that nobody answered costs nothing and leaves no entry', async () => {
    const customer = await payer();
    const call = { direction: 'incoming', source: PHONE, destination: VIRTUAL, tm_progressing: null };
    await tell(entry('call', customer, newId(), [['call_hangup', START]], { ...call, tm_hangup: START }));
    assert.deepEqual(await usagesOf(customer), []);
  });

  it('a call between extensions has an entry and costs nothing', async () => {
    const customer = await payer();
    const call = { direction: 'outgoing', source: OWN, destination: OWN, tm_progressing: START };
    const tm_hangup = later(START, 600);
    const events: [string, Timestamp][] = [
      ['call_progressing', START],
      ['call_hangup', tm_hangup],
    ];
    await tell(entry('call', customer, newId(), events, { ...call, tm_hangup }));
    const [billing] = await usagesOf(customer);
    assert.deepEqual([billing?.['reference_type'], billing?.['billable_units']], ['call_extension', 10]);
    assert.deepEqual(await balanceOf(customer), [100, 0]);
  });

  it('a recording is charged from its start to its end, three tokens a minute', async () => {
    const customer = await payer();
    const times = { tm_start: START, tm_end: later(START, 90) };
    await tell(entry('recording', customer, newId(), [['recording_started', START]], { ...times, tm_end: null }));
    await tell();
    const id = newId();
    await tell(entry('recording', customer, id, [['recording_finished', times.tm_end]], times));
    assert.deepEqual(await balanceOf(customer), [94, 0]);
    await tell(entry('recording', customer, newId(), [['recording_finished', START]], { ...times, tm_start: null }));
    assert.deepEqual(await balanceOf(customer), [94, 0], 'one that never began');
  });

  it('a participation is charged from when it joined to when it left, and not when it never joined', async () => {
    const customer = await payer();
    const [id, outside] = [newId(), newId()];
    await tell(entry('conferencecall', customer, id, [['conferencecall_joined', START]], {}));
    await tell(entry('conferencecall', customer, id, [['conferencecall_leaved', later(START, 61)]], {}));
    await tell(entry('conferencecall', customer, outside, [['conferencecall_leaved', later(START, 61)]], {}));
    assert.deepEqual(await balanceOf(customer), [98, 0]);
    assert.equal((await usagesOf(customer)).length, 1);
  });

  it('the system customer is never billed', async () => {
    const row = { id: SYSTEM_CUSTOMER, status: 'active', sip_label: 'system', tm_create: timestamp() };
    await rig.db('customers').insert(row);
    await work(trx => openAccount(trx, { id: newId(), customer_id: SYSTEM_CUSTOMER }));
    const call = { direction: 'incoming', source: PHONE, destination: VIRTUAL, tm_progressing: START };
    const tm_hangup = later(START, 600);
    await tell(entry('call', SYSTEM_CUSTOMER, newId(), [['call_hangup', tm_hangup]], { ...call, tm_hangup }));
    assert.deepEqual(await usagesOf(SYSTEM_CUSTOMER), []);
  });

  it('a message to three destinations costs three, at once and once', async () => {
    const customer = await payer();
    const id = newId();
    assert.equal(await buy(customer, id, 'sms', 3), true);
    assert.equal(await buy(customer, id, 'sms', 3), false);
    assert.deepEqual(await balanceOf(customer), [100, -30_000]);
  });

  it('through the projector a call is charged once, whatever is told again', async () => {
    const customer = await payer();
    const projector = new Projector({ ...rig, database: rig.db });
    projector.start();
    try {
      const call = aCall(customer, { direction: 'incoming', destination: VIRTUAL, tm_progressing: START });
      const up = { ...call, status: 'progressing' as const };
      const over = { ...up, status: 'hangup' as const, tm_hangup: later(START, 130) };
      const hangup = callEntry(over, 3, ['call_hangup']);
      await report(rig.redis, callEntry(up, 2, ['call_progressing']), hangup, hangup, callEntry(up, 2, []));
      await report(rig.redis, { ...hangup, version: 4 });
      await eventually('all is read', async () => (await projector.lag()) === 0);
    } finally {
      await projector.stop();
    }
    assert.deepEqual(await balanceOf(customer), [97, 0]);
    assert.equal((await usagesOf(customer)).length, 1);
  });

  it('sixty things that end at once on eight connections all count', async () => {
    const customer = await payer();
    await Promise.all(
      Array.from({ length: 60 }, (_, nth) =>
        nth % 3 === 0 ? adjustBy(customer, 7) : nth % 3 === 1 ? buy(customer, newId(), 'email', 1) : buyTwice(customer),
      ),
    );
    assert.deepEqual(await balanceOf(customer), [100, 20 * 7 - 40 * 10_000]);
    assert.deepEqual(await sumOf(customer), await balanceOf(customer));
  });
  const buyTwice = async (customer: string): Promise<void> => {
    const id = newId();
    const bought = await Promise.all([buy(customer, id, 'sms', 1), buy(customer, id, 'sms', 1)]);
    assert.deepEqual(bought.sort(), [false, true]);
  };

  it('the tokens of a month are set, not added, once a month, on the first of the next', async () => {
    const customer = await payer();
    const other = await payer('unlimited');
    const call = { direction: 'incoming', source: PHONE, destination: VIRTUAL, tm_progressing: START };
    const tm_hangup = later(START, 1800);
    await tell(entry('call', customer, newId(), [['call_hangup', tm_hangup]], { ...call, tm_hangup }));
    assert.deepEqual(await balanceOf(customer), [70, 0]);
    const row = await rig.db('billing_accounts').where('customer_id', customer).first<Json>();
    const due = String(row['tm_next_topup']);
    assert.match(due, /-01 00:00:00\.000000$/);
    const at = (text: string): Date => new Date(toMillis(text));
    await topUpAccounts(rig.db, quiet, new Date(toMillis(due) - 1));
    assert.deepEqual(await balanceOf(customer), [70, 0]);
    await Promise.all([topUpAccounts(rig.db, quiet, at(due)), topUpAccounts(rig.db, quiet, at(due))]);
    assert.deepEqual(await balanceOf(customer), [100, 0]);
    const given = (await entriesOf(customer)).filter(each => each['reference_type'] === 'monthly_allowance');
    assert.deepEqual(
      given.map(each => each['amount_token']),
      [100, 30],
    );
    const topped = await rig.db('billing_accounts').where('customer_id', customer).first<Json>();
    assert.equal(topped['tm_last_topup'], due);
    assert.ok(String(topped['tm_next_topup']) > due && String(topped['tm_next_topup']).endsWith('-01 00:00:00.000000'));
    assert.deepEqual(await balanceOf(other), [100, 0]);
    assert.equal((await rig.db('billing_accounts').where('customer_id', other).first<Json>())['tm_next_topup'], null);
  });

  it('an account that cannot be topped up is told, stays due, and holds up no other', async () => {
    const [broken, other] = [await payer(), await payer()];
    const told: string[] = [];
    const log = pino({}, { write: (line: string) => void told.push(line) });
    await rig.db.raw(`create function refuse_top_up() returns trigger language plpgsql as
      $$ begin raise exception 'no room for this entry'; end $$`);
    await rig.db.raw(`create trigger refuse_top_up before insert on billings for each row
      when (new.customer_id = '${broken}') execute function refuse_top_up()`);
    await rig.db('billing_accounts').whereIn('customer_id', [broken, other]).update({ tm_next_topup: START });
    await drain(broken, 10);
    await drain(other, 20);
    await topUpAccounts(rig.db, log, new Date('2026-03-02T00:00:00Z'));
    assert.deepEqual(
      [await balanceOf(broken), await balanceOf(other)],
      [
        [10, 0],
        [100, 0],
      ],
    );
    assert.match(told.join(''), /no room for this entry/);
    await rig.db.raw('drop trigger refuse_top_up on billings');
    await topUpAccounts(rig.db, log, new Date('2026-03-02T00:00:00Z'));
    assert.deepEqual(await balanceOf(broken), [100, 0]);
  });

  it('whatever happens in whatever order: entries sum up to the balance, and tokens are never negative', async () => {
    const seconds = fc.integer({ min: -5, max: 4000 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('call' as const), seconds, virtual: fc.boolean(), again: fc.boolean() }),
      fc.record({ do: fc.constant('recording' as const), seconds, again: fc.boolean() }),
      fc.record({ do: fc.constant('sms' as const), units: fc.integer({ min: 1, max: 9 }), again: fc.boolean() }),
      fc.record({ do: fc.constant('adjust' as const), micros: fc.integer({ min: -9e9, max: 9e9 }) }),
      fc.record({ do: fc.constant('top up' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
        const customer = await payer();
        let [token, credit] = [100, 0];
        const pay = (units: number, rate: { token: number; credit: number }): void => {
          const cost = costOf(units, rate, token);
          [token, credit] = [token - cost.token, credit - cost.credit];
        };
        for (const one of steps) {
          const id = newId();
          if (one.do === 'adjust') {
            await adjustBy(customer, one.micros);
            credit += one.micros;
          } else if (one.do === 'top up') {
            await rig.db('billing_accounts').where('customer_id', customer).update({ tm_next_topup: START });
            const entries = await entriesOf(customer);
            const before = entries.some(each => each['reference_type'] === 'monthly_allowance' && each !== entries[0]);
            await topUpAccounts(rig.db, quiet, new Date('2026-03-02T00:00:00Z'));
            if (!before) token = 100; // the same month gives its tokens once
          } else if (one.do === 'sms') {
            for (const _ of one.again ? [1, 2] : [1]) await buy(customer, id, 'sms', one.units);
            pay(one.units, RATES.sms);
          } else {
            const end = later(START, one.seconds);
            const virtual = one.do === 'call' && one.virtual;
            const ends = { tm_progressing: START, tm_hangup: end, tm_start: START, tm_end: end };
            const data = { direction: 'incoming', source: PHONE, destination: virtual ? VIRTUAL : PHONE, ...ends };
            const event = one.do === 'call' ? 'call_hangup' : 'recording_finished';
            for (const _ of one.again ? [1, 2] : [1]) await tell(entry(one.do, customer, id, [[event, end]], data));
            const units = minutesOf(secondsBetween(0, one.seconds * 1000));
            pay(units, one.do === 'recording' ? RATES.recording : virtual ? RATES.call_vn : RATES.call_pstn_incoming);
          }
          assert.deepEqual(await balanceOf(customer), [token, credit]);
          assert.ok(token >= 0);
        }
        assert.deepEqual(await sumOf(customer), [token, credit]);
        const last = (await entriesOf(customer)).at(-1);
        assert.deepEqual([last?.['balance_token_snapshot'], last?.['balance_credit_snapshot']], [token, credit]);
      }),
      { numRuns: 30 },
    );
  });
});

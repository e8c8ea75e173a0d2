import { strict as assert } from 'node:assert';
import {
  canPay,
  costOf,
  COST_TYPES,
  type CostType,
  type Funds,
  minutesOf,
  type Operation,
  PLANS,
  RATES,
  ratesSetting,
  secondsBetween,
  SYSTEM_CUSTOMER,
} from '#contract/billing';

describe('what things cost (accounts-and-plumbing 14.4)', () => {
  const PRICES: Record<CostType, [token: number, credit: number]> = {
    call_vn: [1, 1_000],
    call_pstn_outgoing: [0, 10_000],
    call_pstn_incoming: [0, 10_000],
    call_extension: [0, 0],
    call_direct_ext: [0, 0],
    sms: [0, 10_000],
    email: [0, 10_000],
    number: [0, 5_000_000],
    number_renew: [0, 5_000_000],
    tts: [3, 30_000],
    recording: [3, 30_000],
    conference: [1, 1_000],
    ai: [3, 30_000],
  };
  for (const cost of COST_TYPES)
    it(`a unit of ${cost} costs ${PRICES[cost][0]} tokens or ${PRICES[cost][1]} micros`, () =>
      assert.deepEqual([RATES[cost].token, RATES[cost].credit], PRICES[cost]));

  for (const [milliseconds, seconds, minutes] of [
    [-5_000, 0, 0],
    [0, 0, 0],
    [1, 1, 1],
    [60_000, 60, 1],
    [60_001, 61, 2],
    [120_000, 120, 2],
    [3_600_000, 3600, 60],
  ] as const)
    it(`${milliseconds} ms are ${seconds} seconds and ${minutes} started minutes`, () => {
      assert.equal(secondsBetween(1_000, 1_000 + milliseconds), seconds);
      assert.equal(minutesOf(seconds), minutes);
    });

  for (const [cost, units, balance, token, credit] of [
    ['call_vn', 5, 100, 5, 0],
    ['call_vn', 5, 3, 3, 2_000],
    ['call_vn', 5, 0, 0, 5_000],
    ['recording', 4, 8, 6, 60_000],
    ['recording', 1, 2, 0, 30_000],
    ['call_pstn_outgoing', 2, 100, 0, 20_000],
    ['call_extension', 60, 100, 0, 0],
    ['sms', 3, 100, 0, 30_000],
    ['call_vn', 0, 100, 0, 0],
  ] as const)
    it(`${units} units of ${cost} with ${balance} tokens take ${token} tokens and ${credit} micros`, () =>
      assert.deepEqual(costOf(units, RATES[cost], balance), { token, credit }));

  it('BILLING_RATES changes the prices it names and leaves the others', () => {
    const rates = ratesSetting.parse('call_pstn_outgoing=0/12000, recording=0/0');
    assert.deepEqual(rates.call_pstn_outgoing, { token: 0, credit: 12_000 });
    assert.deepEqual(rates.recording, { token: 0, credit: 0 });
    assert.deepEqual(rates.call_vn, RATES.call_vn);
    assert.deepEqual(ratesSetting.parse(undefined), RATES);
  });
  for (const wrong of ['call_vn', 'call_vn=1', 'call_vn=-1/5', 'nothing=1/1', 'call_vn=1/1.5'])
    it(`BILLING_RATES=${wrong} is refused`, () => assert.equal(ratesSetting.safeParse(wrong).success, false));
});

describe('what plans give and allow (14.5)', () => {
  for (const [plan, ...row] of [
    ['free', 100, 5, 5, 2, 2, 1, 5],
    ['basic', 1_000, 50, 50, 10, 10, 5, 50],
    ['professional', 10_000, 500, 500, 100, 100, 50, 500],
    ['unlimited', ...Array.from({ length: 7 }, () => Infinity)],
  ] as [keyof typeof PLANS, ...number[]][])
    it(plan, () => {
      const { tokens, extensions, agents, queues, conferences, trunks, virtual_numbers } = PLANS[plan];
      assert.deepEqual([tokens, extensions, agents, queues, conferences, trunks, virtual_numbers], row);
    });
});

describe('who may begin what (14.7)', () => {
  const funds = (given: Partial<Funds>): Funds => ({
    customer_id: 'c',
    status: 'active',
    plan_type: 'free',
    balance_token: 0,
    balance_credit: 0,
    ...given,
  });
  const ROWS: [Operation, credit: number, tokensAreEnough: boolean][] = [
    ['call', 10_000, true],
    ['sms', 10_000, false],
    ['email', 10_000, false],
    ['number', 5_000_000, false],
    ['number_renew', 5_000_000, false],
    ['recording', 30_000, true],
    ['speaking', 30_000, true],
    ['ai', 30_000, true],
    ['conference', 1_000, true],
  ];
  for (const [operation, credit, tokens] of ROWS)
    it(`${operation}: ${credit} micros${tokens ? ' or any token' : ', whatever the tokens'}`, () => {
      assert.equal(canPay(funds({ balance_credit: credit }), operation, RATES), true);
      assert.equal(canPay(funds({ balance_credit: credit - 1 }), operation, RATES), false);
      assert.equal(canPay(funds({ balance_token: 1 }), operation, RATES), tokens);
      assert.equal(canPay(funds({ plan_type: 'unlimited', balance_credit: -1 }), operation, RATES), true);
      for (const status of ['frozen', 'deleted', null] as const) {
        const rich = { status, balance_credit: 1e9, balance_token: 9 };
        assert.equal(canPay(funds(rich), operation, RATES), false, `${status}`);
        assert.equal(canPay(funds({ ...rich, plan_type: 'unlimited' }), operation, RATES), false, `${status}`);
      }
      assert.equal(canPay(funds({ customer_id: SYSTEM_CUSTOMER, status: null }), operation, RATES), true);
    });

  it('a message to three destinations needs the price of three', () => {
    assert.equal(canPay(funds({ balance_credit: 29_999 }), 'sms', RATES, 3), false);
    assert.equal(canPay(funds({ balance_credit: 30_000 }), 'sms', RATES, 3), true);
  });
});

import { strict as assert } from 'node:assert';
import { ADDRESS_TYPES, type Address } from '#contract/address';
import { type Funds, RATES, type Spending, USD } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import { ADMISSION, admit, type Candidate, type Check } from '../../../../media-app/call/admission.ts';

const address = (type: Address['type'], target: string): Address => ({
  type,
  target,
  target_name: '',
  name: '',
  detail: '',
});

const FUNDS: Funds & Spending = {
  customer_id: 'c',
  status: 'active',
  plan_type: 'free',
  balance_token: 1,
  balance_credit: 0,
  spent_on_telephones: 0,
};

const candidate = (type: Address['type'], target: string, status: string, identity: string): Candidate => ({
  source: address('tel', '+15550100'),
  destination: address(type, target),
  customer: { id: 'c', status, identity_verification_status: identity, sip_label: 'c', webhook_secret: '' },
  config: { destination_whitelist: ['us', 'de'], codecs: '' },
  funds: FUNDS,
  rates: RATES,
  most_spend: 0,
});

const reasonOf = (given: Candidate, checks?: readonly Check[]): Promise<string> =>
  admit(given, checks).then(
    () => 'admitted',
    (error: unknown) => (error instanceof PlatformError ? error.reason : String(error)),
  );

/** voice-and-flows 9.1, checks 1 to 6, row by row; earlier ones decide. */
const ROWS: [Address['type'], target: string, status: string, identity: string, outcome: string][] = [
  ['sip', 'sip:a@b', 'active', 'none', 'admitted'],
  ['extension', '1001', 'active', 'none', 'admitted'],
  ['agent', 'x', 'active', 'none', 'admitted'],
  ['tel', '+12125550100', 'active', 'verified', 'admitted'],
  ['tel', '+493012345678', 'active', 'verified', 'admitted'],
  ['tel', '+14165550100', 'active', 'verified', 'PERMISSION_DENIED'], // Canada shares +1
  ['tel', '+33140000000', 'active', 'verified', 'PERMISSION_DENIED'],
  ['tel', '+881612345678', 'active', 'verified', 'PERMISSION_DENIED'], // a satellite lies in no country
  ['tel', '+49', 'active', 'verified', 'PERMISSION_DENIED'],
  ['tel', '+899123456789', 'active', 'none', 'admitted'],
  ['tel', '+15550100', 'active', 'none', 'IDENTITY_VERIFICATION_REQUIRED'],
  ['tel', '+15550100', 'active', 'pending', 'IDENTITY_VERIFICATION_REQUIRED'],
  ['tel', '+15550100', 'active', 'rejected', 'IDENTITY_VERIFICATION_REQUIRED'],
  ...(['initial', 'frozen', 'expired', 'deleted'] as const).flatMap(
    (status): [Address['type'], string, string, string, string][] => [
      ['sip', 'sip:a@b', status, 'verified', 'PERMISSION_DENIED'],
      ['tel', '+15550100', status, 'none', 'PERMISSION_DENIED'],
      ['fax' as Address['type'], '1', status, 'none', 'INVALID_ARGUMENT'],
    ],
  ),
  ...ADDRESS_TYPES.filter(type => !['tel', 'sip', 'agent', 'extension'].includes(type)).map(
    (type): [Address['type'], string, string, string, string] => [type, 'x', 'active', 'verified', 'INVALID_ARGUMENT'],
  ),
];

describe('whether a destination is dialled (voice-and-flows 9.1)', () => {
  it('is asked in the order of the specification', () => {
    assert.deepEqual(
      ADMISSION.map(({ name }) => name),
      ['type', 'account', 'identity', 'balance', 'outbound config', 'whitelist', 'spending'],
    );
  });

  for (const [type, target, status, identity, outcome] of ROWS)
    it(`${type} ${target} of an ${status} account with identity ${identity}: ${outcome}`, async () =>
      assert.equal(await reasonOf(candidate(type, target, status, identity)), outcome));

  it('an account that is gone places no calls', async () =>
    assert.equal(await reasonOf({ ...candidate('sip', 'sip:a@b', '', ''), customer: undefined }), 'PERMISSION_DENIED'));

  it('nothing is dialled while nothing says what may be', async () => {
    const nobody = { ...candidate('sip', 'sip:a@b', 'active', 'verified'), config: undefined };
    assert.equal(await reasonOf(nobody), 'PERMISSION_DENIED');
  });

  const poor = { ...FUNDS, balance_token: 0, balance_credit: 9_999 };
  for (const [type, target] of [
    ['extension', '1001'],
    ['sip', 'sip:a@b'],
    ['tel', '+899123456789'],
    ['tel', '+15550100'],
  ] as const)
    it(`an account without money calls no ${type} ${target}`, async () => {
      const given = { ...candidate(type, target, 'active', 'verified'), funds: poor };
      assert.equal(await reasonOf(given), 'INSUFFICIENT_BALANCE');
      assert.equal(await reasonOf({ ...given, funds: undefined }), 'INSUFFICIENT_BALANCE');
    });

  it('of an identity that is not verified and a balance that is too low the identity is told', async () => {
    const given = { ...candidate('tel', '+15550100', 'active', 'none'), funds: poor };
    assert.equal(await reasonOf(given), 'IDENTITY_VERIFICATION_REQUIRED');
  });

  for (const [target, most_spend, spent_on_telephones, outcome] of [
    ['+12125550100', 5, 5 * USD - RATES.call_pstn_outgoing.credit, 'admitted'],
    ['+12125550100', 5, 5 * USD - RATES.call_pstn_outgoing.credit + 1, 'RESOURCE_LIMIT_EXCEEDED'],
    ['+12125550100', 0, 5000 * USD, 'admitted'],
    ['+899123456789', 5, 5 * USD, 'admitted'], // stays in the house
  ] as const)
    it(`${target} when ${spent_on_telephones} micros of ${most_spend} dollars a day are spent: ${outcome}`, async () => {
      const given = candidate('tel', target, 'active', 'verified');
      assert.equal(await reasonOf({ ...given, most_spend, funds: { ...FUNDS, spent_on_telephones } }), outcome);
    });

  it('a check that cannot be made refuses, and those behind it are not asked', async () => {
    let asked = 0;
    const checks: Check[] = [
      ...ADMISSION,
      { name: 'outbound config', refuse: () => Promise.reject(new Error('unreadable')) },
      {
        name: 'last',
        refuse: () => {
          asked += 1;
          return undefined;
        },
      },
    ];
    assert.equal(await reasonOf(candidate('sip', 'sip:a@b', 'active', 'none'), checks), 'Error: unreadable');
    assert.equal(asked, 0);
  });
});

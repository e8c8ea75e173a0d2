import { z } from 'zod';

/** What is charged for (accounts-and-plumbing 14.3, 14.4). The reference prices no conference and no ai; we do. */
export const COST_TYPES = [
  'call_pstn_outgoing',
  'call_pstn_incoming',
  'call_vn',
  'call_extension',
  'call_direct_ext',
  'sms',
  'email',
  'number',
  'number_renew',
  'tts',
  'recording',
  'conference',
  'ai',
] as const;
export type CostType = (typeof COST_TYPES)[number];

/** Price of a unit: in tokens of the monthly allowance, which pay first, and in credit. 0 tokens: only credit pays. */
export interface Rate {
  token: number;
  /** Micros of a US dollar. */
  credit: number;
}
export type Rates = Readonly<Record<CostType, Rate>>;

/** Micros of a US dollar. */
export const USD = 1_000_000;

/** Accounts-and-plumbing 14.4. A unit is a started minute, a message to one destination, or a number. */
export const RATES: Rates = {
  call_pstn_outgoing: { token: 0, credit: 10_000 },
  call_pstn_incoming: { token: 0, credit: 10_000 },
  call_vn: { token: 1, credit: 1_000 },
  call_extension: { token: 0, credit: 0 },
  call_direct_ext: { token: 0, credit: 0 },
  sms: { token: 0, credit: 10_000 },
  email: { token: 0, credit: 10_000 },
  number: { token: 0, credit: 5_000_000 },
  number_renew: { token: 0, credit: 5_000_000 },
  tts: { token: 3, credit: 30_000 },
  recording: { token: 3, credit: 30_000 },
  conference: { token: 1, credit: 1_000 },
  ai: { token: 3, credit: 30_000 },
};

const RATE = new RegExp(`^(${COST_TYPES.join('|')})=(\\d{1,9})/(\\d{1,12})$`);

const parseRates = (text: string): Rates | undefined => {
  const given = text.split(',').filter(part => part.trim() !== '');
  const matches = given.map(part => RATE.exec(part.trim()));
  if (matches.includes(null)) return undefined;
  const rates = matches.map((match): [string, Rate] => [
    match?.[1] ?? '',
    { token: Number(match?.[2]), credit: Number(match?.[3]) },
  ]);
  return { ...RATES, ...Object.fromEntries(rates) };
};

/** The setting BILLING_RATES, as `Rates`: what it does not name has its usual price. */
export const ratesSetting = z
  .string()
  .refine(text => parseRates(text) !== undefined, 'must be prices such as call_vn=1/1000, recording=3/30000')
  .default('')
  .transform(text => parseRates(text) ?? RATES)
  .describe('Prices that are not the usual ones: `call_vn=1/1000,…`, tokens and millionths of a dollar a unit.');

/** Seconds that are charged between two moments in milliseconds: begun ones count whole, none before the start. */
export const secondsBetween = (start: number, end: number): number => Math.max(0, Math.ceil((end - start) / 1000));

/** Started minutes (14.4). */
export const minutesOf = (seconds: number): number => Math.max(0, Math.ceil(seconds / 60));

/** What units cost an account that has so many tokens: tokens pay as many whole units as they can, credit the rest. */
export const costOf = (units: number, rate: Rate, balanceToken: number): Rate => {
  const paid = rate.token > 0 ? Math.min(units, Math.max(0, Math.floor(balanceToken / rate.token))) : 0;
  return { token: paid * rate.token, credit: (units - paid) * rate.credit };
};

export const PLAN_TYPES = ['free', 'basic', 'professional', 'unlimited'] as const;
export type PlanType = (typeof PLAN_TYPES)[number];

/** What a plan limits the number of. Flows are not limited. */
export type Limited = 'extensions' | 'agents' | 'queues' | 'conferences' | 'trunks' | 'virtual_numbers';

/** What a plan gives a month, and how many of each it allows. */
export type Plan = { tokens: number } & Record<Limited, number>;

const NO_LIMITS = {
  extensions: Infinity,
  agents: Infinity,
  queues: Infinity,
  conferences: Infinity,
  trunks: Infinity,
  virtual_numbers: Infinity,
};

/** Accounts-and-plumbing 14.5. Unlimited accounts are refused nothing, so that nobody counts their tokens. */
export const PLANS: Readonly<Record<PlanType, Plan>> = {
  free: { tokens: 100, extensions: 5, agents: 5, queues: 2, conferences: 2, trunks: 1, virtual_numbers: 5 },
  basic: { tokens: 1_000, extensions: 50, agents: 50, queues: 10, conferences: 10, trunks: 5, virtual_numbers: 50 },
  professional: {
    tokens: 10_000,
    extensions: 500,
    agents: 500,
    queues: 100,
    conferences: 100,
    trunks: 50,
    virtual_numbers: 500,
  },
  unlimited: { tokens: Infinity, ...NO_LIMITS },
};

export const ACCOUNT_STATUSES = ['active', 'frozen', 'deleted'] as const;

/** The owner of what is the platform's own: never checked, never billed (accounts-and-plumbing 9.3). */
export const SYSTEM_CUSTOMER = '00000000-0000-0000-0000-000000000002';

/** What an account has to pay with. */
export interface Funds {
  customer_id: string;
  /** Null, and all that follows too, of a customer that has no account. */
  status: (typeof ACCOUNT_STATUSES)[number] | null;
  plan_type: PlanType;
  balance_token: number;
  /** Micros; may be negative. */
  balance_credit: number;
}

/** What calls to telephones cost a customer: those of the last 24 hours in micros, open ones by the minutes begun so far. */
export interface Spending {
  spent_on_telephones: number;
}

/**
 * True when one more call to a telephone, for a minute at least, stays within what a customer may spend on them in a day.
 * @param mostDollars 0: any sum
 */
export const isWithinSpending = ({ spent_on_telephones }: Spending, rates: Rates, mostDollars: number): boolean =>
  mostDollars === 0 || spent_on_telephones + rates.call_pstn_outgoing.credit <= mostDollars * USD;

/** What must be affordable before it begins: the price of one unit of it, and whether any token is as good (14.7). */
const OPERATIONS = {
  call: { price: 'call_pstn_outgoing', tokens: true },
  sms: { price: 'sms', tokens: false },
  email: { price: 'email', tokens: false },
  number: { price: 'number', tokens: false },
  number_renew: { price: 'number_renew', tokens: false },
  recording: { price: 'recording', tokens: true },
  speaking: { price: 'tts', tokens: true },
  ai: { price: 'ai', tokens: true },
  conference: { price: 'conference', tokens: true },
} as const satisfies Record<string, { price: CostType; tokens: boolean }>;
export type Operation = keyof typeof OPERATIONS;

/**
 * True when a customer may begin an operation (14.7); one without account begins nothing.
 * @param units how many at once: the destinations of a message
 */
export const canPay = (funds: Funds, operation: Operation, rates: Rates, units = 1): boolean => {
  if (funds.customer_id === SYSTEM_CUSTOMER) return true;
  if (funds.status !== 'active') return false;
  const { price, tokens } = OPERATIONS[operation];
  if (funds.plan_type === 'unlimited' || (tokens && funds.balance_token > 0)) return true;
  return funds.balance_credit >= rates[price].credit * units;
};

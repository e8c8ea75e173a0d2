import { z } from 'zod';
import { canPay, SYSTEM_CUSTOMER } from '#contract/billing';
import { parseTimestamp, timestamp, type Timestamp } from '#contract/time';
import { charge, isCharged, keyOf, lockAccountOf, monthOf } from '../billing/ledger.ts';
import { queryOf } from '../billing/query.ts';
import type { Transaction } from '../db.ts';
import type { Context } from '../http/context.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { numbers } from './numbers.ts';
import { render, type Row } from './resource.ts';
import { Store } from './store.ts';

type Renewing = Pick<Context, 'db' | 'rates' | 'numberReleases' | 'log'>;
/** Frozen accounts pay nothing and may come back: their numbers wait. */
type Outcome = 'paid' | 'unpaid' | 'waits';

/** Pays for one more period of a number: once a month, however often it is renewed (14.6). */
const pay = async (trx: Transaction, { rates }: Renewing, { id, customer_id }: Row): Promise<Outcome> => {
  if (customer_id === SYSTEM_CUSTOMER) return 'paid';
  const query = queryOf(trx);
  const account = await lockAccountOf(query, customer_id);
  if (account?.status !== 'active') return 'waits';
  const reference = { reference_type: 'number_renew', reference_id: id } as const;
  const period = monthOf(timestamp());
  const charged = await isCharged(query, keyOf(reference, period));
  if (!charged && !canPay(account, 'number_renew', rates)) return 'unpaid';
  await charge(query, rates, account, { ...reference, cost_type: 'number_renew', period });
  return 'paid';
};

/** Renews one number, or gives it up when its account cannot pay. */
const renewOne = (given: Renewing, id: string, before: Timestamp, request_id: string): Promise<Row | undefined> =>
  given.db.transaction(async trx => {
    const due = trx<Row>('numbers').where({ id }).where('tm_renew', '<', before).whereNull('tm_delete');
    const row = await due.forUpdate().first();
    const outcome = row ? await pay(trx, given, row) : 'waits';
    if (!row || outcome === 'waits') return undefined;
    if (outcome === 'paid') {
      const [renewed] = await trx<Row>('numbers').where({ id }).update({ tm_renew: timestamp() }).returning('*');
      return renewed;
    }
    const { customer_id } = row;
    const scope = { customer_id, any_customer: false, request_id };
    await new Store(numbers, trx).remove(scope, id, { status: 'deleted' });
    given.log.warn({ number_id: id, customer_id }, 'a number was given up: its account cannot pay for it');
    return undefined;
  });

/**
 * Renews the live normal numbers that were last renewed before a moment, each by itself; one that its account cannot pay
 * for is deleted (15.3, Renewal). Returns those renewed.
 */
export const renewNumbers = async (given: Renewing, before: Timestamp, request_id = ''): Promise<Row[]> => {
  const rows = await given
    .db('numbers')
    .where({ type: 'normal', status: 'active' })
    .where('tm_renew', '<', before)
    .whereNull('tm_delete')
    .orderBy('tm_renew')
    .select<{ id: string }[]>('id');
  const renewed: Row[] = [];
  for (const { id } of rows) renewed.push(...[await renewOne(given, id, before, request_id)].filter(row => !!row));
  if (renewed.length < rows.length) given.numberReleases.sweep();
  return renewed;
};

const moment = z
  .string()
  .refine(text => parseTimestamp(text) !== undefined, 'must be a timestamp such as 2026-01-31 00:00:00')
  .describe('Numbers renewed before are renewed.');

const renew = defineRoute({
  method: 'post',
  path: '/numbers/renew',
  operation_id: 'renew_numbers',
  summary: 'Renew every normal number that was last renewed before a moment; unpaid ones are deleted',
  tag: 'Number',
  permission: 'super',
  body: z.object({ tm_renew: moment }),
  response: z.array(numbers.schema),
  async handle({ context, body, request_id }) {
    const rows = await renewNumbers(context, parseTimestamp(body.tm_renew) ?? timestamp(), request_id);
    return rows.map(row => render(numbers, row));
  },
});

export const numberRenewalRoutes: Route[] = [renew];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import type { Context } from '../http/context.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { posted } from '../mail/outbox.ts';
import { publicCustomerSchema, showCustomer, tellCustomer } from '../resources/customer.ts';
import type { Row } from '../resources/resource.ts';
import { letterRoute, linkPage } from './letter-routes.ts';
import { consumeLink, linkToken, postPasswordLink, postVerification } from './links.ts';
import { resentPage, verifiedPage, verifyExpiredPage, verifyPage } from './pages.ts';

const refused = (): PlatformError => new PlatformError('INVALID_ARGUMENT', 'The link cannot verify anything.');

interface Owner {
  id: string;
  customer_id: string;
  username: string;
}

/** The oldest live agent of a customer that can administrate: its default admin, unless somebody followed. */
const ownerOf = (trx: Transaction, customer_id: string): Promise<Owner | undefined> =>
  trx('agents')
    .where({ customer_id })
    .whereNull('tm_delete')
    .orderByRaw('permission & 32 desc, tm_create')
    .first<Owner | undefined>('id', 'customer_id', 'username');

/** Makes a customer active whose link was good (8.2). One that is active already stays so; frozen and deleted ones are refused. */
const verify = (context: Context, token: string, request_id: string): Promise<Row> =>
  context.db.transaction(async trx => {
    const link = await consumeLink(trx, 'verify', token);
    if (!link) throw refused();
    const customers = () => trx<Row>('customers').where('id', link.customer_id);
    const customer = await customers().forUpdate().first();
    if (customer?.['status'] === 'active') return customer;
    const owner = await ownerOf(trx, link.customer_id);
    if (!owner || (customer?.['status'] !== 'initial' && customer?.['status'] !== 'expired')) throw refused();
    const changed = customers().update({ status: 'active', email_verified: true, tm_update: timestamp() });
    const [row] = await changed.returning('*');
    if (!row) throw refused();
    await tellCustomer(trx, 'customer_updated', row, request_id);
    await postPasswordLink(trx, context, owner, 'welcome');
    return row;
  });

const verifyRoute = defineRoute({
  method: 'post',
  path: '/auth/email-verify',
  surface: 'auth',
  operation_id: 'email_verify',
  summary: 'Confirm the e-mail address of an account by the token of its letter',
  tag: 'Auth',
  permission: 'public',
  form: { done: verifiedPage, refused: verifyExpiredPage },
  body: z.object({ token: linkToken }),
  response: z.object({ customer: publicCustomerSchema }).meta({ id: 'EmailVerified' }),
  async handle({ context, body, request_id }) {
    const customer = await verify(context, body.token, request_id);
    context.mail.wake();
    return { customer: showCustomer(customer) };
  },
});

const page = linkPage(
  {
    path: '/auth/email-verify',
    operation_id: 'email_verify_page',
    summary: 'The page behind the link of the letter: a button that confirms, or a form for a new link',
  },
  'verify',
  { good: verifyPage, gone: verifyExpiredPage },
);

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Letters on request: one a minute and so many a day; that of the signup was not requested (accounts-and-plumbing 3). */
const MOST_A_DAY = 5;

/** Sends another verification letter when there is something to verify and the limits allow it (8.3). */
const resend = (context: Context, email: string): Promise<void> =>
  context.db.transaction(async trx => {
    const customer = await trx<Row & { email: string }>('customers')
      .whereRaw('lower(email) = lower(?)', [email])
      .where({ email_verified: false })
      .whereIn('status', ['initial', 'expired'])
      .whereNull('tm_delete')
      .forUpdate()
      .first();
    if (!customer || !(await ownerOf(trx, customer.id))) return;
    const to = { customer_id: customer.id, recipient: customer.email, kind: 'verify_again' as const };
    const sent = await posted(trx, to, DAY_MS);
    const tooSoon = (await posted(trx, to, MINUTE_MS)).length > 0;
    if (sent.length < MOST_A_DAY && !tooSoon) await postVerification(trx, context, customer, 'verify_again');
  });

const resendRoute = letterRoute(
  {
    path: '/auth/email-verify-resend',
    operation_id: 'email_verify_resend',
    summary: 'Ask for another verification letter; the answer never says whether one is sent',
  },
  { name: 'email', what: 'The address of the account.' },
  resentPage,
  resend,
);

export const emailVerifyRoutes: Route[] = [page, verifyRoute, resendRoute];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import type { Context } from '../http/context.ts';
import { posted } from '../mail/outbox.ts';
import { PAGE_HEADERS } from '../http/page.ts';
import { defineRoute, Reply, type Route } from '../http/route.ts';
import { consumeLink, isLinkGood, linkToken, postPasswordLink } from './links.ts';
import { forgotPage, resetDonePage, resetPage, resetRefusedPage } from './pages.ts';
import { hashPassword } from './secrets.ts';

const HOUR_MS = 3_600_000;
/** Nobody's mailbox is filled from here: letters to one agent within an hour. */
const MOST_AN_HOUR = 5;

/** Posts a link with which a live agent chooses a new password (8.6). */
const forgot = (context: Context, name: string): Promise<void> =>
  context.db.transaction(async trx => {
    const agent = await trx('agents')
      .whereRaw('lower(username) = lower(?)', [name])
      .whereNull('tm_delete')
      .forUpdate()
      .first<{ id: string; customer_id: string; username: string } | undefined>('id', 'customer_id', 'username');
    if (!agent) return;
    const { customer_id, username: recipient } = agent;
    const sent = await posted(trx, { customer_id, recipient, kind: 'password' }, HOUR_MS);
    if (sent.length < MOST_AN_HOUR) await postPasswordLink(trx, context, agent, 'password');
  });

const forgotRoute = defineRoute({
  method: 'post',
  path: '/auth/password-forgot',
  surface: 'auth',
  operation_id: 'password_forgot',
  summary: 'Ask for a link to choose a new password; the answer never says whether one is sent',
  tag: 'Auth',
  permission: 'public',
  quiet: true,
  form: { done: forgotPage, refused: forgotPage },
  body: z.object({ username: z.string().max(255).describe('The e-mail address of an agent, in any case.') }),
  response: z.object({}),
  async handle({ context, body }) {
    await forgot(context, body.username);
    context.mail.wake();
    return {};
  },
});

const page = defineRoute({
  method: 'get',
  path: '/auth/password-reset',
  surface: 'auth',
  operation_id: 'password_reset_page',
  summary: 'The page behind the link of the letter: a form for the new password',
  tag: 'Auth',
  permission: 'public',
  query: z.object({ token: linkToken }),
  media_type: 'text/html',
  response: z.string(),
  async handle({ context, query }) {
    const good = await isLinkGood(context.db, 'password', query.token);
    return new Reply(200, Buffer.from(good ? resetPage(query.token) : resetRefusedPage()), PAGE_HEADERS);
  },
});

const reset = async (context: Context, token: string, password: string): Promise<void> => {
  const hash = await hashPassword(password);
  await context.db.transaction(async trx => {
    const link = await consumeLink(trx, 'password', token);
    const agents = trx('agents')
      .where({ id: link?.agent_id ?? null })
      .whereNull('tm_delete');
    const changed = link ? await agents.update({ password: hash, tm_update: timestamp() }) : 0;
    if (changed === 0) throw new PlatformError('INVALID_ARGUMENT', 'The link is no longer good.');
  });
};

const resetRoute = defineRoute({
  method: 'post',
  path: '/auth/password-reset',
  surface: 'auth',
  operation_id: 'password_reset',
  summary: 'Set a new password by the token of the letter; tokens that are out stay good',
  tag: 'Auth',
  permission: 'public',
  form: { done: resetDonePage, refused: resetRefusedPage },
  body: z.object({
    token: linkToken,
    password: z
      .string()
      .min(8)
      .refine(text => Buffer.byteLength(text) <= 72, 'must be at most 72 bytes')
      .describe('At least 8 characters, at most 72 bytes.'),
  }),
  response: z.object({}),
  async handle({ context, body }) {
    await reset(context, body.token, body.password);
    return {};
  },
});

export const passwordRoutes: Route[] = [forgotRoute, page, resetRoute];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import type { Context } from '../http/context.ts';
import { posted } from '../mail/outbox.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { letterRoute, linkPage } from './letter-routes.ts';
import { consumeLink, linkToken, postPasswordLink } from './links.ts';
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

const forgotRoute = letterRoute(
  {
    path: '/auth/password-forgot',
    operation_id: 'password_forgot',
    summary: 'Ask for a link to choose a new password; the answer never says whether one is sent',
  },
  { name: 'username', what: 'The e-mail address of an agent, in any case.' },
  forgotPage,
  forgot,
);

const page = linkPage(
  {
    path: '/auth/password-reset',
    operation_id: 'password_reset_page',
    summary: 'The page behind the link of the letter: a form for the new password',
  },
  'password',
  { good: resetPage, gone: resetRefusedPage },
);

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

import { z } from 'zod';
import type { Context } from '../http/context.ts';
import { PAGE_HEADERS } from '../http/page.ts';
import { defineRoute, Reply, type FormPages, type Route } from '../http/route.ts';
import { isLinkGood, linkToken } from './links.ts';

type Facts = Pick<Route, 'path' | 'operation_id' | 'summary'>;
const PUBLIC = { surface: 'auth', tag: 'Auth', permission: 'public' } as const;

/** The page behind the link of a letter. Looking at it does not use the link up. */
export const linkPage = (
  facts: Facts,
  kind: Parameters<typeof isLinkGood>[1],
  pages: { good(token: string): string; gone(): string },
): Route =>
  defineRoute({
    ...facts,
    ...PUBLIC,
    method: 'get',
    query: z.object({ token: linkToken }),
    media_type: 'text/html',
    response: z.string(),
    async handle({ context, query: { token } }) {
      const good = await isLinkGood(context.db, kind, token);
      return new Reply(200, Buffer.from(good ? pages.good(token) : pages.gone()), PAGE_HEADERS);
    },
  });

/** Asks for a letter to an address, the one field of the body. The answer never says whether one is sent (8.3, 8.6). */
export const letterRoute = <F extends string>(
  facts: Facts,
  field: { name: F; what: string },
  page: FormPages['done'],
  send: (context: Context, address: string) => Promise<void>,
): Route =>
  defineRoute({
    ...facts,
    ...PUBLIC,
    method: 'post',
    quiet: true,
    form: { done: page, refused: page },
    body: z.object({ [field.name]: z.string().max(255).describe(field.what) } as Record<F, z.ZodString>),
    response: z.object({}),
    async handle({ context, body }) {
      await send(context, String((body as Record<F, string>)[field.name]));
      context.mail.wake();
      return {};
    },
  });

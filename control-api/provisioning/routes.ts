import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { toRfc3339 } from '#contract/time';
import type { Context } from '../http/context.ts';
import { PAGE_HEADERS } from '../http/page.ts';
import { defineRoute, Reply, type Route, type RouteRequest } from '../http/route.ts';
import { idParams, scopeOf } from '../resources/crud.ts';
import { extensions } from '../resources/extensions.ts';
import { Store } from '../resources/store.ts';
import { formats } from './formats/index.ts';
import { findLine, type Line } from './line.ts';
import { provisioningPage, spentPage } from './page.ts';
import { qrPng, qrSvg } from './qr.ts';
import type { Holder } from './tokens.ts';

const urlOf = ({ publicUrl }: Pick<Context, 'publicUrl'>, token: string): string =>
  `${publicUrl}/provisioning/${token}`;

const issue = defineRoute({
  method: 'post',
  path: '/extensions/{id}/provisioning-token',
  operation_id: 'extension_provisioning_token',
  summary: 'Get an address, good for ten minutes, with which a phone sets itself up; it is a credential',
  tag: extensions.title,
  permission: extensions.write,
  params: idParams,
  response: z
    .object({
      token: z.string().describe('64 lowercase hex digits.'),
      url: z.string().describe('Where a phone fetches its settings, to be shown as a QR code.'),
      expire: z.string().describe('10 minutes after the issue, RFC 3339.'),
    })
    .meta({ id: 'ProvisioningToken', description: 'Lets any holder read the settings of a phone with its password.' }),
  reasons: [extensions.not_found],
  async handle(request) {
    const { context, params } = request;
    const extension = await new Store(extensions, context.db).get(scopeOf(request), params.id);
    const { token, tm_expire } = await context.provisioning.issue(extension.id);
    return { token, url: urlOf(context, token), expire: toRfc3339(tm_expire) };
  },
});

/** Nobody keeps what holds a password, and caches know that it differs by who asks. */
const HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Vary: 'User-Agent, Accept' };

const fileReply = (media_type: string, content: Buffer | string): Reply =>
  new Reply(200, Buffer.from(content), { ...HEADERS, 'Content-Type': media_type });
const pageReply = (status: number, page: string): Reply =>
  new Reply(status, Buffer.from(page), { ...PAGE_HEADERS, ...HEADERS });

const agentOf = ({ incoming }: RouteRequest): string => incoming.headers['user-agent'] ?? '';
const byAgent = (agent: string) => formats.find(format => format.agent?.test(agent));

/** Browsers ask for HTML; some desk phones call themselves Mozilla, but say who they are as well. */
const isBrowser = (request: RouteRequest): boolean =>
  byAgent(agentOf(request)) === undefined && (request.incoming.headers.accept ?? '').includes('text/html');

const refused = (): PlatformError => new PlatformError('INVALID_ARGUMENT', 'There is no phone to set up here.');

interface Found {
  url: string;
  line: Line;
  holder: Holder;
}

const find = async ({ context }: RouteRequest, token: string): Promise<Found> => {
  const holder = await context.provisioning.holder(token);
  const line = holder && (await findLine(context.db, holder.extension_id, context.phoneAccess));
  if (!line) throw refused();
  return { url: urlOf(context, token), line, holder };
};

/** Whoever looks with a browser is told in words; phones and programs get a bare 400 (18.2). */
const answerFor = async (
  request: RouteRequest,
  token: string,
  answer: (found: Found) => Promise<Reply>,
): Promise<Reply> => {
  try {
    return await answer(await find(request, token));
  } catch (error) {
    const isSpent = error instanceof PlatformError && error.reason === 'INVALID_ARGUMENT';
    if (isSpent && isBrowser(request)) return pageReply(400, spentPage());
    throw error;
  }
};

const tokenParam = z.string().max(255).describe('What POST /extensions/{id}/provisioning-token gave.');
const formatNames = formats.map(format => format.name);

const settings = defineRoute({
  method: 'get',
  path: '/provisioning/{token}',
  surface: 'auth',
  operation_id: 'provisioning',
  summary: 'The settings of a phone with its password, in the format that its User-Agent reads; people get a page',
  tag: extensions.title,
  permission: 'public',
  params: z.object({ token: tokenParam }),
  query: z.object({ format: z.enum(formatNames).optional().describe('The format, whoever asks.') }),
  media_type: 'application/xml',
  response: z.string(),
  handle: request =>
    answerFor(request, request.params.token, async ({ url, line, holder }) => {
      const named = formats.find(format => format.name === request.query.format);
      if (!named && isBrowser(request))
        return pageReply(200, await provisioningPage(url, line.username, holder.tm_expire));
      const format = named ?? byAgent(agentOf(request)) ?? formats[0];
      return fileReply(format.media_type, format.write(line));
    }),
});

const PICTURES: Record<string, (url: string) => Promise<Reply>> = {
  'qr.svg': async url => fileReply('image/svg+xml', await qrSvg(url, 'QR code that sets up a phone')),
  'qr.png': async url => fileReply('image/png', await qrPng(url)),
};

const file = defineRoute({
  method: 'get',
  path: '/provisioning/{token}/{file}',
  surface: 'auth',
  operation_id: 'provisioning_file',
  summary: 'The same under the name that a desk phone asks for (001565aabbcc.cfg, cfg.xml, …), or qr.svg and qr.png',
  tag: extensions.title,
  permission: 'public',
  bare: [404],
  params: z.object({ token: tokenParam, file: z.string().max(255).describe('The name of the file.') }),
  media_type: 'application/xml',
  response: z.string(),
  handle: request =>
    answerFor(request, request.params.token, async ({ url, line }) => {
      const name = request.params.file;
      const format = formats.find(each => each.file?.test(name));
      if (format) return fileReply(format.media_type, format.write(line));
      const picture = Object.hasOwn(PICTURES, name) ? PICTURES[name] : undefined;
      // Phones try several names, and go on after a 404.
      if (!picture) throw new PlatformError('ROUTE_NOT_FOUND', 'No phone that we know asks for this file.');
      return picture(url);
    }),
});

export const provisioningRoutes: Route[] = [issue, settings, file];

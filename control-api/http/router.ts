import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { PlatformError, type Reason } from '#contract/errors';
import type { Identity } from './authenticate.ts';
import { bindBody, bindParams, bindQuery, parseForm, parseJson } from './bind.ts';
import type { Context } from './context.ts';
import { checkBound, directOperation } from './direct-operations.ts';
import { asPlatformError } from './errors.ts';
import { handleOnce } from './keyed.ts';
import { PAGE_HEADERS } from './page.ts';
import { permit } from './permit.ts';
import { Reply, type Route, type RouteRequest } from './route.ts';
import { withUpload } from './upload.ts';

/** Bodies larger than this are refused before they are read. */
const BODY_LIMIT = '1mb';

/** Public routes have no identity; nothing they can reach asks for one. */
const NOBODY: Identity = {
  kind: 'accesskey',
  customer_id: '00000000-0000-0000-0000-000000000000',
  customer_status: 'deleted',
  permission: 0,
  agent_id: '',
};

const expressPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Repeated query parameters: the first counts. */
const single = (query: Request['query']): Record<string, unknown> =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));

const isForm = (route: Route, request: Request): boolean =>
  route.form !== undefined && request.is('application/x-www-form-urlencoded') !== false;

const parseBody = (route: Route, request: Request): unknown => {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return isForm(route, request) ? parseForm(raw) : parseJson(raw);
};

const bind = (route: Route, request: Request): Pick<RouteRequest, 'params' | 'query' | 'body'> => ({
  params: bindParams(request.params, route.params),
  query: route.query && bindQuery(route.query, single(request.query)),
  body: route.body && bindBody(route.body, parseBody(route, request)),
});

const sendPage = (response: Response, status: number, page: string): void =>
  void response.status(status).set(PAGE_HEADERS).send(page);

const answer = (route: Route, request: Request, response: Response, result: unknown): void => {
  const reply = result instanceof Reply ? result : new Reply(route.status, result);
  if (route.form && isForm(route, request)) return sendPage(response, reply.status, route.form.done());
  response.status(reply.status).set(reply.headers);
  if (reply.body === undefined) response.end();
  else if (Buffer.isBuffer(reply.body)) response.send(reply.body);
  else response.json(reply.body);
};

/** Refuses who may not; what is not there is not found even then, so nobody learns of other customers' records (6.2). */
const admit = async (route: Route, request: RouteRequest): Promise<void> => {
  const params = request.params as Record<string, string>;
  if (route.permission === 'public') return;
  try {
    permit(request.identity, route.permission, params['id']);
  } catch (error) {
    if (error instanceof PlatformError && error.reason === 'PERMISSION_DENIED')
      await route.find?.({ ...request, params });
    throw error;
  }
};

const identityOf = (route: Route, context: Context, request: Request): Promise<Identity> =>
  route.permission === 'public'
    ? Promise.resolve(NOBODY)
    : context.authenticator.identify(request, route.surface === 'versioned', route.gate);

type Who = Pick<RouteRequest, 'context' | 'identity' | 'request_id' | 'client_ip' | 'incoming'>;

/** What comes after the caller is known: a direct token's own list, binding, permission, a file, handler (6.2). */
const serve = async (route: Route, request: Request, who: Who): Promise<unknown> => {
  const { direct } = who.identity;
  const listed = route.permission !== 'any' && route.permission !== 'public';
  const operation = direct && listed ? directOperation(direct, route) : undefined;
  const asked = { ...who, ...bind(route, request) };
  if (direct && operation) checkBound(operation, direct, asked);
  else await admit(route, asked);
  if (!route.upload) return handleOnce(route, request, asked);
  return withUpload(request, { folder: who.context.uploadFolder, ...route.upload }, upload => {
    // What an Idempotency-Key is compared by, in place of a body in memory.
    request.body = upload.fingerprint;
    return handleOnce(route, request, { ...asked, upload });
  });
};

/** Authenticates, counts and looks at the account's status, before anything of the body is read (1.1). */
const entryOf =
  (route: Route, context: Context): RequestHandler =>
  async (request, response, next) => {
    const identity = await identityOf(route, context, request);
    response.locals['identity'] = identity;
    response.locals['customer_id'] = identity.customer_id;
    next();
  };

const handlerOf =
  (route: Route, context: Context): RequestHandler =>
  async (request, response) => {
    const { identity, request_id } = response.locals as { identity: Identity; request_id: string };
    const client_ip = context.limits.addressOf(request);
    const who = { context, identity, request_id, client_ip, incoming: request };
    const work = (): Promise<unknown> => serve(route, request, who);
    if (route.surface === 'auth') await answerBare({ route, context, request, response, work });
    else answer(route, request, response, await work());
  };

interface BareAnswer {
  route: Route;
  context: Context;
  request: Request;
  response: Response;
  work: () => Promise<unknown>;
}

/** Reasons that the authentication group tells with an envelope, even out of a handler (8.4). */
const TOLD: readonly Reason[] = ['ACCOUNT_EXPIRED', 'ACCOUNT_DELETED'];

/** Failures of the authentication group have a status and no body; quiet routes have none at all (8). */
const answerBare = async ({ route, context, request, response, work }: BareAnswer): Promise<void> => {
  try {
    answer(route, request, response, await work());
  } catch (error) {
    const failure = asPlatformError(error);
    if (TOLD.includes(failure.reason)) throw error;
    const { request_id } = response.locals as { request_id: string };
    if (failure !== error) context.log.error({ err: error as Error, request_id }, `${route.operation_id} failed`);
    if (route.quiet) answer(route, request, response, {});
    else if (route.form && isForm(route, request)) sendPage(response, failure.httpStatus, route.form.refused());
    else response.status(failure.httpStatus).end();
  }
};

const firstSegment = (path: string): string => path.split('/', 2)[1] ?? '';

/** Serves the routes of a surface. There are hundreds, so that only those of the path's first segment are compared with it. */
export const routerOf = (routes: Route[], context: Context): RequestHandler => {
  const routers = new Map<string, Router>();
  const body = express.raw({ type: () => true, limit: BODY_LIMIT });
  for (const route of routes) {
    const segment = firstSegment(route.path);
    const router = routers.get(segment) ?? express.Router({ caseSensitive: true });
    const steps = [entryOf(route, context), ...(route.body ? [body] : [])];
    router[route.method](expressPath(route.path), ...steps, handlerOf(route, context));
    routers.set(segment, router);
  }
  return (request, response, next) => {
    const router = routers.get(firstSegment(request.path));
    if (router) router(request, response, next);
    else next();
  };
};

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { PlatformError } from '#contract/errors';
import type { Identity } from './authenticate.ts';
import { bindBody, bindParams, bindQuery, parseJson } from './bind.ts';
import type { Context } from './context.ts';
import { permit } from './permit.ts';
import { Reply, type Route, type RouteRequest } from './route.ts';

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

const bodyOf = (route: Route, request: Request): unknown =>
  route.body && bindBody(route.body, parseJson(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)));

const bind = (route: Route, request: Request): Pick<RouteRequest, 'params' | 'query' | 'body'> => ({
  params: bindParams(request.params, route.params),
  query: route.query && bindQuery(route.query, single(request.query)),
  body: bodyOf(route, request),
});

const answer = (route: Route, response: Response, result: unknown): void => {
  const reply = result instanceof Reply ? result : new Reply(route.status, result);
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

/** The order of accounts-and-plumbing 1.1 and 6.2: authenticate, account status, binding, permission, handler. */
const handlerOf =
  (route: Route, context: Context): RequestHandler =>
  async (request, response) => {
    const counted = route.surface === 'versioned';
    const identity = route.permission === 'public' ? NOBODY : await context.authenticator.identify(request, counted);
    response.locals['customer_id'] = identity.customer_id;
    const request_id = String(response.locals['request_id']);
    const asked = { context, identity, request_id, ...bind(route, request) };
    await admit(route, asked);
    answer(route, response, await route.handle(asked));
  };

/** Failures of the authentication group are a bare 400, except those of the account's status (8, 8.4). */
const bare =
  (handler: RequestHandler): RequestHandler =>
  async (request, response, next) => {
    try {
      await handler(request, response, next);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.httpStatus !== 400) throw error;
      response.status(400).end();
    }
  };

/** Serves the routes of a surface. */
export const routerOf = (routes: Route[], context: Context): Router => {
  const router = express.Router({ caseSensitive: true });
  const body = express.raw({ type: () => true, limit: BODY_LIMIT });
  for (const route of routes) {
    const handler = handlerOf(route, context);
    const steps = route.body ? [body] : [];
    router[route.method](expressPath(route.path), ...steps, route.surface === 'auth' ? bare(handler) : handler);
  }
  return router;
};

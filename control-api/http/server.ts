import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Log } from '#process/log';
import { PlatformError } from '#contract/errors';
import { storedLink } from '../storage/recording-audio.ts';
import type { Context } from './context.ts';
import { docsRouter } from './docs.ts';
import { downloadsRouter } from './downloads.ts';
import { asPlatformError, envelope, headersOf } from './errors.ts';
import { requestIdOf } from './request-id.ts';
import { VERSION_PREFIX, type Route } from './route.ts';
import { routerOf } from './router.ts';

const identify: RequestHandler = (request, response, next) => {
  const requestId = requestIdOf(request.headers['x-request-id']);
  response.locals['request_id'] = requestId;
  response.set('X-Request-Id', requestId);
  next();
};

/** Any origin, no credentials, 12 hours; a preflight needs no credentials (accounts-and-plumbing 1.3). */
const cors: RequestHandler = (request, response, next) => {
  response.set('Access-Control-Allow-Origin', '*');
  response.set('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, Idempotent-Replayed');
  if (request.method !== 'OPTIONS') return next();
  response.set({
    'Access-Control-Allow-Methods': 'POST, GET, PUT, DELETE, PATCH, HEAD, OPTIONS',
    'Access-Control-Allow-Headers':
      'Origin, X-Requested-With, Content-Type, Accept, Authorization, Idempotency-Key, X-Request-Id',
    'Access-Control-Max-Age': '43200',
  });
  response.status(204).end();
};

/** The addresses of phones' settings are secrets themselves. */
const withoutToken = (path: string): string => path.replace(/^(\/provisioning\/)[^/]+/, '$1…');

/** One line a request, without its query: tokens travel there. */
const logRequests =
  (log: Log): RequestHandler =>
  (request, response, next) => {
    const started = performance.now();
    const path = withoutToken(request.path);
    response.on('close', () => {
      const { request_id, customer_id, reason } = response.locals as Record<string, unknown>;
      const duration_ms = Math.round(performance.now() - started);
      const facts = { request_id, customer_id, status: response.statusCode, reason, duration_ms };
      log.info(facts, `${request.method} ${path}`);
    });
    next();
  };

/** These two have a bucket of their own (accounts-and-plumbing 3). */
const PROTECTED = ['/auth/unregister', '/auth/delegate'];

const countAddress =
  ({ limits }: Context): RequestHandler =>
  (request, _response, next) => {
    const isProtected = PROTECTED.includes(request.path);
    if (request.path.startsWith(`${VERSION_PREFIX}/`)) limits.countAddress('versioned', request);
    else if (/^\/(auth|provisioning)\//.test(request.path))
      limits.countAddress(isProtected ? 'auth_protected' : 'auth_public', request);
    next();
  };

const hintFor = (path: string): string => {
  if (path.startsWith(`${VERSION_PREFIX}/auth/`))
    return `Authentication has no version prefix: use ${path.slice(VERSION_PREFIX.length)}.`;
  if (path.startsWith(VERSION_PREFIX) && path.endsWith('/ws'))
    return 'This address speaks WebSocket: open it with ws:// or wss://.';
  return 'There is no such endpoint.';
};

const notFound: RequestHandler = request => {
  throw new PlatformError('ROUTE_NOT_FOUND', hintFor(request.path));
};

const fail =
  (log: Log): ErrorRequestHandler =>
  (error, _request, response, next) => {
    const failure = asPlatformError(error);
    const requestId = String(response.locals['request_id']);
    response.locals['reason'] = failure.reason;
    if (failure.reason === 'INTERNAL' || failure.reason === 'SERVICE_UNAVAILABLE')
      log.error({ err: error as Error, request_id: requestId }, 'request failed');
    // Too late for an envelope: Express closes the connection.
    if (response.headersSent) return next(error);
    response.status(failure.httpStatus).set(headersOf(failure)).json(envelope(failure, requestId));
  };

/** The whole HTTP side: request id, CORS, security headers, routes, documentation, errors. */
export const createServer = (routes: Route[], context: Context, openApi: () => object): Express => {
  const server = express();
  server.disable('x-powered-by').disable('etag').set('query parser', 'simple').set('case sensitive routing', true);
  server.use(identify, logRequests(context.log), cors, helmet({ crossOriginResourcePolicy: false }));
  server.use(countAddress(context));
  const of = (surface: Route['surface']) =>
    routerOf(
      routes.filter(route => route.surface === surface),
      context,
    );
  server.use(VERSION_PREFIX, of('versioned'));
  server.use(docsRouter(openApi, VERSION_PREFIX));
  server.use(downloadsRouter(context.downloads, filename => storedLink(context, filename)));
  server.use(of('auth'), of('root'));
  server.use(notFound, fail(context.log));
  return server;
};

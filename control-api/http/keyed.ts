import type { Request } from 'express';
import type { Identity } from './authenticate.ts';
import type { Context } from './context.ts';
import { idempotencyKey, type IdOf, type KeyedRequest } from './idempotency.ts';
import { Reply, type Route, type RouteRequest } from './route.ts';

const CREDENTIALS = ['token', 'accesskey'];

/** The query as asked, without what only says who asks. */
const questionOf = (url: string): string => {
  const at = url.indexOf('?');
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at));
  for (const name of CREDENTIALS) query.delete(name);
  return query.toString();
};

/** The request behind an Idempotency-Key; undefined when it has none or its route takes none. */
const keyedRequest = (route: Route, request: Request, identity: Identity): KeyedRequest | undefined => {
  if (route.method !== 'post' || route.surface !== 'versioned') return undefined;
  const key = idempotencyKey(request.headers['idempotency-key']);
  if (key === undefined) return undefined;
  const body = Buffer.isBuffer(request.body) ? request.body : '';
  const content = [identity.agent_id, questionOf(request.url), body];
  return { customer_id: identity.customer_id, path: request.baseUrl + request.path, key, content };
};

/** Commands whose ids follow from the request: the first of a name is the same command whenever the request comes. */
const sameCommands = (commands: Context['commands'], idOf: IdOf): Context['commands'] => {
  const sent = new Map<string, number>();
  const next = (name: string): string => {
    const nth = (sent.get(name) ?? 0) + 1;
    sent.set(name, nth);
    return idOf(`${name} ${nth}`);
  };
  return {
    send: (name, given) => commands.send(name, { ...given, id: given.id ?? next(name) }),
    tell: (name, given) => commands.tell(name, { ...given, id: given.id ?? next(name) }),
  };
};

const asReply = (route: Route, result: unknown): Reply =>
  result instanceof Reply ? result : new Reply(route.status, result);

/** Has a request handled; one with an Idempotency-Key once, whoever repeats it gets the same answer. */
export const handleOnce = async (route: Route, asked: Request, request: RouteRequest): Promise<Reply> => {
  const keyed = keyedRequest(route, asked, request.identity);
  if (!keyed) return asReply(route, await route.handle(request));
  const { context } = request;
  return context.idempotency.once(keyed, async idOf => {
    const own = { ...context, commands: sameCommands(context.commands, idOf) };
    return asReply(route, await route.handle({ ...request, context: own, fresh_id: idOf('row') }));
  });
};

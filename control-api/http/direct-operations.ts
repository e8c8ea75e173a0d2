import { PlatformError } from '#contract/errors';
import type { Bound } from '../auth/token.ts';

/** What a direct hash can be booted for, and the one kind of resource its token may make (accounts-and-plumbing 7.1). */
export const DIRECT_CHILDREN = {
  ai: 'aicall',
  ai_team: 'aicall',
  webchat_widget: 'webchat_session',
} as const;
export type Bootable = keyof typeof DIRECT_CHILDREN;
export type DirectChild = (typeof DIRECT_CHILDREN)[Bootable];

/** Where a request names the resource it is about; `required`: one that does not is refused. */
interface Named {
  in: 'params' | 'query' | 'body';
  name: string;
  required?: true;
}

/** An operation that direct tokens may call. */
export interface DirectOperation {
  child: DirectChild;
  method: string;
  /** As routes spell it. */
  path: string;
  /** It must be the token's own `allowed_resource_id` where it is given; handlers fill in what is left out. */
  named?: Named;
}

const inPath: Named = { in: 'params', name: 'id' };

/** Everything that a direct token may call below the version prefix; complete (7.2). */
export const DIRECT_OPERATIONS: readonly DirectOperation[] = [
  { child: 'aicall', method: 'post', path: '/aicalls' },
  { child: 'aicall', method: 'get', path: '/aicalls' },
  { child: 'aicall', method: 'get', path: '/aicalls/{id}', named: inPath },
  { child: 'aicall', method: 'delete', path: '/aicalls/{id}', named: inPath },
  { child: 'aicall', method: 'post', path: '/aicalls/{id}/terminate', named: inPath },
  { child: 'aicall', method: 'get', path: '/aicalls/{id}/participants', named: inPath },
  { child: 'aicall', method: 'post', path: '/aimessages', named: { in: 'body', name: 'aicall_id' } },
  { child: 'aicall', method: 'get', path: '/aimessages', named: { in: 'query', name: 'aicall_id' } },
  { child: 'aicall', method: 'get', path: '/aimessages/{id}' },
  { child: 'aicall', method: 'delete', path: '/aimessages/{id}' },
  { child: 'webchat_session', method: 'post', path: '/webchat_sessions' },
  { child: 'webchat_session', method: 'post', path: '/webchat_sessions/{id}/end', named: inPath },
  { child: 'webchat_session', method: 'post', path: '/webchat_messages', named: { in: 'body', name: 'session_id' } },
  {
    child: 'webchat_session',
    method: 'get',
    path: '/webchat_messages',
    named: { in: 'query', name: 'session_id', required: true },
  },
];

/** What anybody with a direct token hears of everything else (6.2 step 5). */
export const directRefused = (): PlatformError =>
  new PlatformError('DIRECT_ACCESS_NOT_SUPPORTED', 'This operation needs a login; a direct token cannot call it.');

/**
 * The operation of the list that a route is. Throws DIRECT_ACCESS_NOT_SUPPORTED for every other route, and
 * PERMISSION_DENIED when the token is for another kind of child.
 */
export const directOperation = (bound: Bound, route: { method: string; path: string }): DirectOperation => {
  const operation = DIRECT_OPERATIONS.find(({ method, path }) => method === route.method && path === route.path);
  if (!operation) throw directRefused();
  if (!bound.allowed_resource_types.includes(operation.child))
    throw new PlatformError('PERMISSION_DENIED', `The token is not for ${operation.child} resources.`);
  return operation;
};

/**
 * Checks that a request is about the one resource of its token. Throws RESOURCE_NOT_FOUND for every other id, as if there
 * were none, and PERMISSION_DENIED when it names none and must.
 */
export const checkBound = (
  { named }: DirectOperation,
  bound: Bound,
  request: { params: unknown; query: unknown; body: unknown },
): void => {
  if (!named) return;
  const given = (request[named.in] as Record<string, unknown> | undefined)?.[named.name];
  if (given === undefined && named.required)
    throw new PlatformError('PERMISSION_DENIED', `A direct token must name its ${named.name}.`);
  if (given === undefined || given === '') return;
  if (typeof given !== 'string' || given.toLowerCase() !== bound.allowed_resource_id)
    throw new PlatformError('RESOURCE_NOT_FOUND', 'There is no such resource.');
};

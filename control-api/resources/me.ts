import { defineRoute, type Route } from '../http/route.ts';
import { agents } from './agents.ts';
import { scopeOf } from './crud.ts';
import { render } from './resource.ts';
import { Store } from './store.ts';

/** The agent behind the token, as it is now (accounts-and-plumbing 11.2). */
export const getMe = defineRoute({
  method: 'get',
  path: '/me',
  operation_id: 'get_me',
  summary: 'Get the agent who is logged in',
  tag: 'Me',
  permission: 'login',
  response: agents.schema,
  reasons: ['AGENT_NOT_FOUND', 'DIRECT_ACCESS_NOT_SUPPORTED'],
  async handle(request) {
    const { context, identity } = request;
    return render(agents, await new Store(agents, context.db).get(scopeOf(request), identity.agent_id));
  },
});

export const meRoutes: Route[] = [getMe];

import { PlatformError } from '#contract/errors';
import { EMPTY_ID } from '#contract/ids';
import { validateActions } from '#flow/validate';
import { newDirectHash } from '../auth/secrets.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import { crud } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { flows, mustBeFlow } from './flow-store.ts';
import { clearFlow } from './numbers.ts';
import type { Row } from './resource.ts';

/** A safety cap (voice-and-flows 2.3). */
const MOST_FLOWS = 10_000;

const withinCap = async ({ context, identity }: RouteRequest): Promise<void> => {
  const live = context
    .db('flows')
    .where({ customer_id: identity.customer_id, persistent: true })
    .whereNull('tm_delete');
  const counted = (await live.count({ n: '*' }).first()) as { n: number } | undefined;
  if ((counted?.n ?? 0) >= MOST_FLOWS)
    throw new PlatformError('RESOURCE_LIMIT_EXCEEDED', `An account may have ${MOST_FLOWS} flows.`);
};

const routes = crud(flows, {
  async prepare(request, { actions, ...body }) {
    await mustBeFlow(request.context.db, request.identity.customer_id, body.on_complete_flow_id);
    await withinCap(request);
    return { ...body, actions: validateActions(actions), direct_hash: newDirectHash() };
  },
  /** PUT replaces: an on-complete flow left out is unset (voice-and-flows 2.2). */
  async revise(request, { actions, on_complete_flow_id = EMPTY_ID, ...body }) {
    await mustBeFlow(request.context.db, request.identity.customer_id, on_complete_flow_id);
    const checked = actions === undefined ? {} : { actions: validateActions(actions) };
    return { ...body, ...checked, on_complete_flow_id };
  },
  removing: ({ request_id }) => ({
    within: (trx, row: Row) => clearFlow(trx, row.customer_id, row.id, request_id),
  }),
});

export const flowRoutes: Route[] = [...Object.values(routes), ...regenerateHash(flows)];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { campaigns, dataField, outdials, outdialTargets } from './campaign-store.ts';
import { crud, idParams } from './crud.ts';
import { listUnder, parentOf } from './listed-under.ts';
import { ownedRecord } from './owned.ts';
import { render, type Row } from './resource.ts';
import { setter } from './setter.ts';
import { Store } from './store.ts';

const TAG = outdials.title;

const mustBeCampaign = ({ context, identity }: RouteRequest, id: unknown): Promise<Row | undefined> =>
  ownedRecord(context.db, campaigns, identity.customer_id, id);

const routes = crud(outdials, {
  async prepare(request, body) {
    await mustBeCampaign(request, body.campaign_id);
    return body;
  },
});

const setters = [
  setter(outdials, {
    field: 'campaign_id',
    summary: 'Give one outdial to a campaign, or take it away',
    body: { campaign_id: outdials.create.shape.campaign_id },
    reasons: ['CAMPAIGN_NOT_FOUND'],
    async change(request) {
      await mustBeCampaign(request, request.body.campaign_id);
      return { values: request.body };
    },
  }),
  setter(outdials, { field: 'data', summary: 'Change the data of one outdial', body: { data: dataField } }),
];

const hasDestination = (body: Record<string, unknown>): boolean =>
  [0, 1, 2, 3, 4].some(at => {
    const address = body[`destination_${at}`] as { target: string } | null;
    return address !== null && address.target !== '';
  });

const createTarget = defineRoute({
  method: 'post',
  path: '/outdials/{id}/targets',
  operation_id: 'create_outdial_target',
  summary: 'Put one target on an outdial',
  tag: TAG,
  permission: outdials.write,
  params: idParams,
  body: outdialTargets.create,
  response: outdialTargets.schema,
  reasons: ['OUTDIAL_NOT_FOUND'],
  async handle(request) {
    if (!hasDestination(request.body))
      throw new PlatformError('INVALID_ARGUMENT', 'A target needs at least one of destination_0 to destination_4.');
    const { row, scope } = await parentOf(outdials, request);
    const values = { ...request.body, outdial_id: row.id };
    return render(outdialTargets, await new Store(outdialTargets, request.context.db).insert(scope, values));
  },
});

const targetParams = idParams.extend({ target_id: z.uuid().describe('The id of the target.') });
type TargetRequest = RouteRequest<{ id: string; target_id: string }>;

/** The target that the path names, and its scope. One of another outdial is not found. */
const targetOf = async (request: TargetRequest) => {
  const { row, scope } = await parentOf(outdials, request);
  const store = new Store(outdialTargets, request.context.db);
  const target = await store.get(scope, request.params.target_id);
  if (target['outdial_id'] !== row.id) throw new PlatformError('OUTDIAL_TARGET_NOT_FOUND', 'Outdialtarget not found.');
  return { store, scope, target };
};

const single = (method: 'get' | 'delete', summary: string, handle: (request: TargetRequest) => Promise<Row>): Route =>
  defineRoute({
    method,
    path: '/outdials/{id}/targets/{target_id}',
    operation_id: `${method}_outdial_target`,
    summary,
    tag: TAG,
    permission: method === 'get' ? outdials.read : outdials.write,
    params: targetParams,
    response: outdialTargets.schema,
    reasons: ['OUTDIAL_NOT_FOUND', 'OUTDIAL_TARGET_NOT_FOUND'],
    handle: async request => render(outdialTargets, await handle(request)),
  });

const targets: Route[] = [
  listUnder({
    parent: outdials,
    child: outdialTargets,
    column: 'outdial_id',
    field: 'targets',
    summary: 'List the targets of one outdial, newest first',
  }),
  createTarget,
  single('get', 'Get one target of an outdial', async request => (await targetOf(request)).target),
  single('delete', 'Take one target off an outdial', async request => {
    const { store, scope, target } = await targetOf(request);
    return store.remove(scope, target.id);
  }),
];

export const outdialRoutes: Route[] = [...Object.values(routes), ...setters, ...targets];

import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet } from '#contract/ids';
import { timestamp } from '#contract/time';
import { validateActions } from '#flow/validate';
import type { Queryable, Transaction } from '../db.ts';
import type { Route, RouteRequest } from '../http/route.ts';
import {
  CAMPAIGN_STATUSES,
  campaigncalls,
  campaigns,
  outdials,
  outplans,
  resourceInfo,
  serviceLevel,
} from './campaign-store.ts';
import { crud } from './crud.ts';
import { actionsField } from './flow-store.ts';
import { listUnder } from './listed-under.ts';
import { ownedRecord } from './owned.ts';
import { queues } from './queues.ts';
import type { Row } from './resource.ts';
import { setter } from './setter.ts';
import { tellUpdated, type More } from './store.ts';

type Info = Record<keyof typeof resourceInfo, string>;

/** Whatever a campaign names is the customer's, and its list is no other campaign's (contact-centre 9.2). */
const mustFit = async (db: Queryable, customerId: string, info: Info, campaignId: string): Promise<void> => {
  await ownedRecord(db, outplans, customerId, info.outplan_id);
  const outdial = await ownedRecord(db, outdials, customerId, info.outdial_id);
  await ownedRecord(db, queues, customerId, info.queue_id);
  await ownedRecord(db, campaigns, customerId, info.next_campaign_id);
  const holder = outdial?.['campaign_id'];
  if (typeof holder === 'string' && isSet(holder) && holder !== campaignId)
    throw new PlatformError('INVALID_ARGUMENT', 'outdial_id: another campaign has this outdial.');
};

/** Gives the campaign its outdial, and lets go of the one it had before. */
const takeOutdial = async (trx: Transaction, campaign: Row, request_id: string): Promise<void> => {
  const own = () => trx<Row>('outdials').where('customer_id', campaign.customer_id).whereNull('tm_delete');
  const outdial_id = String(campaign['outdial_id']);
  const tm_update = timestamp();
  const left = await own()
    .where('campaign_id', campaign.id)
    .whereNot('id', outdial_id)
    .update({ campaign_id: EMPTY_ID, tm_update })
    .returning('*');
  const taken = await own()
    .where({ id: outdial_id, campaign_id: EMPTY_ID })
    .update({ campaign_id: campaign.id, tm_update })
    .returning('*');
  const holder: Row | undefined = isSet(outdial_id) ? await own().where('id', outdial_id).first() : undefined;
  if (holder && holder['campaign_id'] !== campaign.id)
    throw new PlatformError('INVALID_ARGUMENT', 'outdial_id: another campaign has this outdial.');
  await tellUpdated(trx, outdials, [...left, ...taken], request_id);
};

const taking = ({ request_id }: RouteRequest): More => ({
  within: (trx, row) => takeOutdial(trx, row, request_id),
});

const mustStandStill = async (_trx: Transaction, row: Row): Promise<void> => {
  if (row['status'] !== 'stop') throw new PlatformError('STATE_INVALID', 'Stop the campaign before you delete it.');
};

const { remove, ...routes } = crud(campaigns, {
  async prepare({ context, identity }, { actions, ...body }) {
    await mustFit(context.db, identity.customer_id, body, '');
    return { ...body, actions: validateActions(actions) };
  },
  creating: taking,
  removing: ({ request_id }) => ({
    within: async (trx, row) => {
      await mustStandStill(trx, row);
      await takeOutdial(trx, { ...row, outdial_id: EMPTY_ID }, request_id);
    },
  }),
});

/** What a change of status asks. Dialling itself is not part of this installation yet, and nobody is told it were. */
const refuseToRun = async (request: RouteRequest, row: Row): Promise<never> => {
  const info = row as Row & Info;
  await mustFit(request.context.db, row.customer_id, info, row.id);
  if (!isSet(info.outplan_id) || !isSet(info.outdial_id))
    throw new PlatformError('INVALID_ARGUMENT', 'A campaign needs an outplan and an outdial to run.');
  throw new PlatformError('SERVICE_UNAVAILABLE', 'This installation does not run campaigns yet; it only keeps them.');
};

const statusField = z
  .enum(CAMPAIGN_STATUSES)
  .refine(status => status !== 'stopping', 'must be run or stop')
  .describe('run or stop.');

const setters: Route[] = [
  setter(campaigns, {
    field: 'status',
    summary: 'Run or stop one campaign',
    body: { status: statusField },
    reasons: ['SERVICE_UNAVAILABLE', 'OUTPLAN_NOT_FOUND', 'OUTDIAL_NOT_FOUND', 'QUEUE_NOT_FOUND'],
    async change(request, row) {
      if (request.body.status === 'run') await refuseToRun(request, row);
      return undefined; // Nothing runs, so it is stopped already.
    },
  }),
  setter(campaigns, {
    field: 'service_level',
    summary: 'Change how much one campaign dials at once',
    body: { service_level: serviceLevel },
  }),
  setter(campaigns, {
    field: 'actions',
    summary: 'Replace the actions of one campaign',
    body: { actions: actionsField },
    reasons: ['INVALID_ACTION_TYPE', 'INVALID_ANONYMOUS_VALUE', 'FLOW_NOT_FOUND'],
    change: async ({ body }) => ({ values: { actions: validateActions(body.actions) } }),
  }),
  setter(campaigns, {
    field: 'resource_info',
    summary: 'Change what one campaign dials by',
    body: resourceInfo,
    reasons: ['OUTPLAN_NOT_FOUND', 'OUTDIAL_NOT_FOUND', 'QUEUE_NOT_FOUND'],
    async change(request, row) {
      await mustFit(request.context.db, row.customer_id, request.body, row.id);
      return { values: request.body, ...taking(request) };
    },
  }),
  setter(campaigns, {
    field: 'next_campaign_id',
    summary: 'Change which campaign follows one campaign',
    body: { next_campaign_id: resourceInfo.next_campaign_id },
    async change({ context, body }, row) {
      await ownedRecord(context.db, campaigns, row.customer_id, body.next_campaign_id);
      return { values: body };
    },
  }),
];

export const campaignRoutes: Route[] = [
  ...Object.values(routes),
  { ...remove, reasons: [...remove.reasons, 'STATE_INVALID'] },
  ...setters,
  listUnder({
    parent: campaigns,
    child: campaigncalls,
    column: 'campaign_id',
    field: 'campaigncalls',
    summary: 'List the tries of one campaign, newest first',
  }),
];

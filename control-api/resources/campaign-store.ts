import { z } from 'zod';
import { actionSchema } from '#contract/action';
import { addressSchema, normalizeAddress } from '#contract/address';
import { detailField, nameField, reference } from './fields.ts';
import { byId, byWord } from './filters.ts';
import { actionsField } from './flow-store.ts';
import { defineResource } from './resource.ts';

const LONGEST_MS = 2_147_483_647;
const milliseconds = (what: string) => z.number().int().min(0).max(LONGEST_MS).describe(`${what} Milliseconds.`);

/** An address in its stored form. */
const address = (what: string) => addressSchema.overwrite(normalizeAddress).describe(what);

const tries = (at: number) =>
  z.number().int().min(0).max(1000).describe(`How often destination_${at} is dialled; 0: never.`);

/** How a campaign dials. */
export const dialInfo = {
  source: address('Who calls.'),
  dial_timeout: milliseconds('How long it rings; 0: as long as the platform lets it.'),
  try_interval: milliseconds('The least time between two tries of one target.'),
  max_try_count_0: tries(0),
  max_try_count_1: tries(1),
  max_try_count_2: tries(2),
  max_try_count_3: tries(3),
  max_try_count_4: tries(4),
};

/** Plans of how to dial (contact-centre 7). */
export const outplans = defineResource({
  name: 'outplan',
  title: 'Outplan',
  path: '/outplans',
  table: 'outplans',
  not_found: 'OUTPLAN_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: false,
  fields: { name: nameField.unwrap(), detail: detailField.unwrap(), ...dialInfo },
  changeable: ['name', 'detail'],
});

/** Free text that a list or a target carries for whoever reads it. */
export const dataField = z.string().max(65_536).describe('Free text.');
const spokenName = z.string().min(1, 'must not be empty').max(255).describe('What people see.');

/** Lists of whom to call (contact-centre 8). */
export const outdials = defineResource({
  name: 'outdial',
  title: 'Outdial',
  path: '/outdials',
  table: 'outdials',
  not_found: 'OUTDIAL_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: true,
  refusals: ['CAMPAIGN_NOT_FOUND'],
  filters: { campaign_id: byId('Only those of this campaign.') },
  fields: {
    campaign_id: reference('The campaign that has it; the empty UUID: none.').unwrap(),
    name: spokenName,
    detail: detailField.unwrap(),
    data: dataField,
  },
  changeable: ['name', 'detail'],
});

const destination = (at: number) =>
  address(`Where the target is reached, tried ${at === 0 ? 'first' : `after destination_${at - 1}`}.`)
    .nullable()
    .default(null);

/** How many have been made of each destination. */
const made = z.number().int().describe('How often it was dialled.');

const declaredTargets = defineResource({
  name: 'outdialtarget',
  title: 'Outdialtarget',
  path: '/outdials/{id}/targets',
  table: 'outdial_targets',
  not_found: 'OUTDIAL_TARGET_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: false,
  fields: {
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    data: dataField,
    destination_0: destination(0),
    destination_1: destination(1),
    destination_2: destination(2),
    destination_3: destination(3),
    destination_4: destination(4),
  },
  changeable: [],
  shown: {
    outdial_id: z.uuid().describe('The list it is on.'),
    status: z.enum(['idle', 'progressing', 'done']).describe('done: somebody was reached.'),
    try_count_0: made,
    try_count_1: made,
    try_count_2: made,
    try_count_3: made,
    try_count_4: made,
  },
});

/** Whom a list has to call. The customer is that of the list. */
export const outdialTargets = {
  ...declaredTargets,
  schema: declaredTargets.schema.omit({ customer_id: true }).meta({ id: 'Outdialtarget' }),
};

export const CAMPAIGN_STATUSES = ['stop', 'stopping', 'run'] as const;
const CAMPAIGN_TYPES = ['call', 'flow'] as const;

export const serviceLevel = z
  .number()
  .int()
  .min(0)
  .max(10_000)
  .describe('How many are dialled at once, in percent of the agents of the queue that are free.');

/** What a campaign dials by, and what follows it. */
export const resourceInfo = {
  outplan_id: reference('How it dials.').unwrap(),
  outdial_id: reference('Whom it dials.').unwrap(),
  queue_id: reference('The queue that those who answer join after the actions; the empty UUID: none.').unwrap(),
  next_campaign_id: reference('Runs when this one has ended by itself; the empty UUID: none.').unwrap(),
};

/** Lists worked off by dialling (contact-centre 9). */
export const campaigns = defineResource({
  name: 'campaign',
  title: 'Campaign',
  path: '/campaigns',
  table: 'campaigns',
  not_found: 'CAMPAIGN_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: true,
  refusals: [
    'OUTPLAN_NOT_FOUND',
    'OUTDIAL_NOT_FOUND',
    'QUEUE_NOT_FOUND',
    'CAMPAIGN_NOT_FOUND',
    'FLOW_NOT_FOUND',
    'INVALID_ACTION_TYPE',
    'INVALID_ANONYMOUS_VALUE',
  ],
  filters: {
    status: byWord(CAMPAIGN_STATUSES, 'Only those with this status.'),
    type: byWord(CAMPAIGN_TYPES, 'Only those of this type.'),
  },
  fields: {
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    type: z.enum(CAMPAIGN_TYPES).describe('call: the actions run on each call. flow: they run without one.'),
    service_level: serviceLevel,
    end_handle: z.enum(['stop', 'continue']).describe('What happens when no target is left.'),
    actions: actionsField,
    ...resourceInfo,
  },
  changeable: ['name', 'detail', 'type', 'service_level', 'end_handle'],
  shown: { status: z.enum(CAMPAIGN_STATUSES).describe('Whether it dials.'), actions: z.array(actionSchema) },
});

/** Tries of campaigns (contact-centre 10). */
export const campaigncalls = defineResource({
  name: 'campaigncall',
  title: 'Campaigncall',
  path: '/campaigncalls',
  table: 'campaigncalls',
  not_found: 'CAMPAIGNCALL_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: false,
  fields: {},
  changeable: [],
  shown: {
    campaign_id: z.uuid(),
    outplan_id: z.uuid(),
    outdial_id: z.uuid(),
    outdial_target_id: z.uuid(),
    queue_id: z.uuid(),
    activeflow_id: z.uuid(),
    flow_id: z.uuid(),
    reference_type: z.enum(['none', 'call', 'flow']),
    reference_id: z.uuid(),
    status: z.enum(['dialing', 'progressing', 'done']),
    result: z.enum(['', 'success', 'fail']),
    source: addressSchema,
    destination: addressSchema,
    destination_index: z.number().int().describe('Which of the destinations of the target.'),
    try_count: z.number().int().describe('Which try of that destination.'),
  },
});

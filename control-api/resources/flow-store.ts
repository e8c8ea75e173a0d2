import { z } from 'zod';
import { actionInputSchema, actionSchema, type Action, type ActionInput } from '#contract/action';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { fromDate, timestamp } from '#contract/time';
import { validateActions } from '#flow/validate';
import type { Db } from '../db.ts';
import { detailField, nameField, reference } from './fields.ts';
import { defineResource } from './resource.ts';
import { Store } from './store.ts';

/** Actions as clients write them. What they hold is checked by the flow's own rules. */
export const actionsField = z.array(actionInputSchema).describe('Run from first to last, unless one says otherwise.');

/** Ordered lists of actions (voice-and-flows 2). Temporary flows lie in the same table, outside every list. */
export const flows = defineResource({
  name: 'flow',
  title: 'Flow',
  path: '/flows',
  table: 'flows',
  not_found: 'FLOW_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: true,
  refusals: ['FLOW_NOT_FOUND', 'INVALID_ACTION_TYPE', 'INVALID_ANONYMOUS_VALUE', 'RESOURCE_LIMIT_EXCEEDED'],
  listed: { persistent: true, type: 'flow' },
  fields: {
    name: nameField,
    detail: detailField,
    actions: actionsField.default([]),
    on_complete_flow_id: reference('Run when the flow has ended.'),
  },
  changeable: ['name', 'detail', 'actions', 'on_complete_flow_id'],
  shown: {
    type: z.string().describe('Always flow.'),
    actions: z.array(actionSchema),
    direct_hash: z.string().describe('Forms the direct SIP URI; who dials it runs the flow.'),
  },
});

const TEMPORARY_LIFETIME_MS = 24 * 3600 * 1000;

/** A live flow of the customer, as the media side runs it. Rejects FLOW_NOT_FOUND. */
export const templateOf = async (db: Db, customerId: string, id: string): Promise<FlowTemplate> => {
  const scope = { customer_id: customerId, any_customer: false, request_id: '' };
  const row = await new Store(flows, db).get(scope, id);
  const [actions, on_complete_flow_id] = [row['actions'] as Action[], String(row['on_complete_flow_id'])];
  return { id, customer_id: customerId, actions, on_complete_flow_id };
};

/** Actions as a flow that `storeTemporary` has yet to store (voice-and-flows 2.4). Throws what breaks a flow's rules. */
export const temporaryFlow = (customerId: string, given: ActionInput[]): FlowTemplate => ({
  id: newId(),
  customer_id: customerId,
  actions: validateActions(given),
  on_complete_flow_id: EMPTY_ID,
});

/** Stores a temporary flow: no list shows it, and it expires after 24 hours. */
export const storeTemporary = async (db: Db, flow: FlowTemplate): Promise<void> => {
  const { id, customer_id } = flow;
  const times = { tm_expire: fromDate(new Date(Date.now() + TEMPORARY_LIFETIME_MS)), tm_create: timestamp() };
  const actions = JSON.stringify(flow.actions);
  await db('flows').insert({ id, customer_id, name: '', detail: '', actions, persistent: false, ...times });
};

/** Removes a temporary flow that nothing runs. */
export const removeTemporary = async (db: Db, { id, customer_id }: FlowTemplate): Promise<void> => {
  await db('flows').where({ id, customer_id, persistent: false }).delete();
};

/** Removes temporary flows whose day is over. Returns how many. */
export const removeExpiredFlows = async (db: Db): Promise<number> =>
  db('flows').where('tm_expire', '<', timestamp()).delete();

/** Rejects FLOW_NOT_FOUND when a set id names no live flow of the customer. */
export const mustBeFlow = async (db: Db, customerId: string, id: unknown): Promise<void> => {
  if (typeof id === 'string' && isSet(id)) await templateOf(db, customerId, id);
};

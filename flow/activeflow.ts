import { START_ACTION } from '#contract/action';
import type { Activeflow, ReferenceType } from '#contract/activeflow';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID, newId } from '#contract/ids';
import { fromDate, NEVER, type Timestamp } from '#contract/time';
import { sanitiseVariables, Variables } from './variables.ts';

/** What an activeflow is made of. `tm_create` overrides `now` where the store needs timestamps that never tie. */
export interface NewActiveflow {
  id?: string;
  template: FlowTemplate;
  reference_type: ReferenceType;
  reference_id: string;
  reference_activeflow_id?: string;
  /** The parent's variables, copied whole, when `reference_activeflow_id` is set. */
  parentVariables?: Record<string, string>;
  /** Given from outside; sanitised here (voice-and-flows 5.2). */
  variables?: Record<string, string>;
  webhook_uri?: string;
  webhook_method?: Activeflow['webhook_method'];
  now: Date;
  tm_create?: Timestamp;
}

/** A new activeflow and what `FlowRunner` needs to run it. */
export interface CreatedActiveflow {
  activeflow: Activeflow;
  variables: Variables;
  template: FlowTemplate;
}

const COMPLETE_COUNT = 'svc.activeflow.complete_count';

/** How many on-complete hops led to the activeflow that has these variables (4.11). */
export const hopsOf = (variables: Record<string, string>): number =>
  Math.max(0, Number.parseInt(variables[COMPLETE_COUNT] ?? '', 10) || 0);

/** The variables with a true hop count, whatever a flow wrote over it with variable_set. */
export const withHops = (variables: Record<string, string>, hops: number): Record<string, string> => ({
  ...variables,
  [COMPLETE_COUNT]: String(hops),
});

const recordOf = (given: NewActiveflow): Activeflow => ({
  id: given.id ?? newId(),
  customer_id: given.template.customer_id,
  flow_id: given.template.id,
  status: 'running',
  reference_type: given.reference_type,
  reference_id: given.reference_id || EMPTY_ID,
  reference_activeflow_id: given.reference_activeflow_id || EMPTY_ID,
  on_complete_flow_id: given.template.on_complete_flow_id || EMPTY_ID,
  webhook_uri: given.webhook_uri ?? '',
  webhook_method: given.webhook_method ?? '',
  current_action: { ...START_ACTION },
  forward_action_id: EMPTY_ID,
  executed_actions: [],
  tm_create: given.tm_create ?? fromDate(given.now),
  tm_update: NEVER,
  tm_delete: NEVER,
});

const systemVariables = (activeflow: Activeflow): Record<string, string> => ({
  'svc.activeflow.id': activeflow.id,
  'svc.activeflow.reference_type': activeflow.reference_type,
  'svc.activeflow.reference_id': activeflow.reference_id,
  'svc.activeflow.reference_activeflow_id': activeflow.reference_activeflow_id,
  'svc.activeflow.flow_id': activeflow.flow_id,
});

/**
 * Makes an activeflow that stands before its first action (voice-and-flows 4.1, 5.2). Pure: nothing is written and
 * nothing runs; the owner adds its own variables, commits `activeflow_created` and starts a `FlowRunner`.
 */
export const createActiveflow = (given: NewActiveflow): CreatedActiveflow => {
  const activeflow = recordOf(given);
  const parent = given.parentVariables;
  const initial = { ...parent, ...sanitiseVariables(given.variables ?? {}), ...systemVariables(activeflow) };
  const variables = new Variables(withHops(initial, parent ? hopsOf(parent) + 1 : 0));
  return { activeflow, variables, template: given.template };
};

import { z } from 'zod';
import type { FlowTemplate } from '#contract/flow';
import { PlatformError } from '#contract/errors';
import { isSet } from '#contract/ids';
import { simulationSchema, type Simulation } from '#flow/simulator/result';
import { scriptSchema } from '#flow/simulator/script';
import { simulate } from '#flow/simulator/simulate';
import { validateActions } from '#flow/validate';
import { warningSchema, warningsOf } from '#flow/warnings';
import type { Context } from '../http/context.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { idParams } from './crud.ts';
import { reference, variablesField } from './fields.ts';
import { actionsField, templateOf, temporaryFlow } from './flow-store.ts';

const referenceType = z
  .enum(['call', 'api'])
  .default('call')
  .describe('`call`: the flow drives a simulated call; `api`: none, as with POST /activeflows.');

const given = { reference_type: referenceType, variables: variablesField, script: scriptSchema.prefault({}) };
const simulationBody = z.object(given);
type SimulationBody = z.output<typeof simulationBody>;

/** A flow of the customer, or undefined; that a flow is missing is a matter of the simulated action. */
const lookUp = async (context: Context, customerId: string, id: string): Promise<FlowTemplate | undefined> => {
  try {
    return await templateOf(context.db, customerId, id);
  } catch (error) {
    if (error instanceof PlatformError && error.reason === 'FLOW_NOT_FOUND') return undefined;
    throw error;
  }
};

/** Runs a flow on virtual time. Other flows are read; nothing is written, sent or dialled. */
const simulated = (
  context: Context,
  template: FlowTemplate,
  { reference_type, variables, script }: SimulationBody,
): Promise<Simulation> =>
  simulate({
    template,
    reference_type,
    variables,
    script,
    now: new Date(),
    flow: id => lookUp(context, template.customer_id, id),
  });

const simulateFlow = defineRoute({
  method: 'post',
  path: '/flows/{id}/simulate',
  operation_id: 'simulate_flow',
  summary: 'Run a flow on virtual time against a script; nothing is dialled, sent or stored',
  tag: 'Flow',
  permission: 'manager',
  params: idParams,
  body: simulationBody,
  response: simulationSchema,
  reasons: ['FLOW_NOT_FOUND', 'INVALID_VARIABLES'],
  async handle({ context, identity, params, body }) {
    return simulated(context, await templateOf(context.db, identity.customer_id, params.id), body);
  },
});

const simulateActiveflow = defineRoute({
  method: 'post',
  path: '/activeflows/simulate',
  operation_id: 'simulate_activeflow',
  summary: 'Run actions or a flow on virtual time against a script; nothing is dialled, sent or stored',
  tag: 'Activeflow',
  permission: 'manager',
  body: z.object({
    flow_id: reference('The flow to run. It wins over actions.'),
    actions: actionsField.default([]),
    ...given,
  }),
  response: simulationSchema,
  reasons: ['FLOW_NOT_FOUND', 'INVALID_VARIABLES', 'INVALID_ACTION_TYPE', 'INVALID_ANONYMOUS_VALUE'],
  async handle({ context, identity, body }) {
    const { flow_id, actions } = body;
    const { customer_id } = identity;
    if (!isSet(flow_id) && actions.length === 0)
      throw new PlatformError('INVALID_ARGUMENT', 'flow_id or actions is required.');
    const stored = isSet(flow_id) ? await templateOf(context.db, customer_id, flow_id) : undefined;
    return simulated(context, stored ?? temporaryFlow(customer_id, actions), body);
  },
});

const validate = defineRoute({
  method: 'post',
  path: '/flows/validate',
  operation_id: 'validate_flow',
  summary: 'Say what looks wrong in a flow without storing or running it',
  tag: 'Flow',
  permission: 'manager',
  body: z.object({
    actions: actionsField,
    reference_type: referenceType,
    direction: z.enum(['incoming', 'outgoing']).default('incoming').describe('Of the call the flow is for.'),
  }),
  response: z.object({ warnings: z.array(warningSchema) }).meta({ id: 'FlowWarnings' }),
  reasons: ['INVALID_ACTION_TYPE', 'INVALID_ANONYMOUS_VALUE'],
  async handle({ body: { actions, ...about } }) {
    return { warnings: warningsOf(validateActions(actions), about) };
  },
});

export const simulationRoutes: Route[] = [simulateFlow, simulateActiveflow, validate];

import { z } from 'zod';
import { actionSchema } from './action.ts';
import { ACTIVEFLOW_STATUSES } from './machines/activeflow.ts';

export const REFERENCE_TYPES = [
  'call',
  'conversation',
  'api',
  'campaign',
  'transcribe',
  'recording',
  'ai',
  '',
] as const;
export type ReferenceType = (typeof REFERENCE_TYPES)[number];

/** A flow being executed (voice-and-flows 7). */
export const activeflowSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    flow_id: z.string(),
    status: z.enum(ACTIVEFLOW_STATUSES),
    reference_type: z.enum(REFERENCE_TYPES),
    reference_id: z.string(),
    reference_activeflow_id: z.string().describe('The activeflow this one follows.'),
    on_complete_flow_id: z.string(),
    webhook_uri: z.string(),
    webhook_method: z.enum(['', 'POST', 'GET', 'PUT', 'DELETE']),
    current_action: actionSchema,
    forward_action_id: z.string(),
    executed_actions: z.array(actionSchema),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Activeflow', description: 'A flow being executed.' });

export type Activeflow = z.infer<typeof activeflowSchema>;

import { actionSchema, type Action } from './action.ts';
import { z } from 'zod';

/** What the media side needs of a flow to run it: a copy, so later changes of the flow do not matter. */
export interface FlowTemplate {
  id: string;
  customer_id: string;
  actions: Action[];
  on_complete_flow_id: string;
}

export const flowTemplateSchema = z.object({
  id: z.string(),
  customer_id: z.string(),
  actions: z.array(actionSchema),
  on_complete_flow_id: z.string(),
});

import { z } from 'zod';
import { isId, isSet } from '#contract/ids';
import { defineAction } from '../action.ts';

export const fetchFlow = defineAction({
  type: 'fetch_flow',
  summary: "Runs another flow's actions, then comes back.",
  needs: 'any',
  onError: 'stop',
  option: z.object({ flow_id: z.string().max(64).default('').describe('A flow of the same customer.') }),
  async run({ activeflow, ports }, { flow_id }) {
    const known = isSet(flow_id) && isId(flow_id);
    const template = known ? await ports.flow(activeflow.customer_id, flow_id) : undefined;
    if (!template) throw new Error(`there is no flow ${flow_id}`);
    return { kind: 'fork', actions: template.actions };
  },
});

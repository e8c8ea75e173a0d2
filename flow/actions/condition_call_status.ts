import { z } from 'zod';
import { defineAction } from '../action.ts';
import { decision } from './decision.ts';
import { callOf } from './on-call.ts';
import { targetId } from './options.ts';

export const conditionCallStatus = defineAction({
  type: 'condition_call_status',
  summary: "Deprecated: goes on when the call's status is the given one, else jumps.",
  needs: 'call',
  onError: 'stop',
  option: z.object({
    status: z.string().max(64).default('').describe('A status of a call.'),
    false_target_id: targetId,
  }),
  async run(context, { status, false_target_id }) {
    return decision(callOf(context).record().status === status, false_target_id);
  },
});

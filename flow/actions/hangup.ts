import { z } from 'zod';
import { isId, isSet } from '#contract/ids';
import { defineAction } from '../action.ts';
import { callOf } from './on-call.ts';

export const hangup = defineAction({
  type: 'hangup',
  summary: 'Hangs up the call, which ends the flow.',
  needs: 'call',
  onError: 'next',
  option: z.object({
    reason: z.string().max(64).default('').describe('A hangup reason; empty is normal.'),
    reference_id: z.string().max(64).default('').describe('A finished call whose cause is used instead.'),
  }),
  async run(context, { reason, reference_id }) {
    const reference = isSet(reference_id) && isId(reference_id) ? reference_id : '';
    await callOf(context).hangup(reason || 'normal', reference);
    return { kind: 'finish' };
  },
});

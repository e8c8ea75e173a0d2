import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';

export const confbridgeJoin = defineAction({
  type: 'confbridge_join',
  summary: 'Enters an audio bridge and waits until the call has left it; conference_join ends in one.',
  needs: 'call',
  onError: 'next',
  option: z.object({ confbridge_id: z.string().max(64).default('').describe('The bridge.') }),
  async run(context, { confbridge_id }) {
    await callOf(context).joinConfbridge(confbridge_id, context.signal);
    return next;
  },
});

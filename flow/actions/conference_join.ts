import { z } from 'zod';
import type { Action, ActionType } from '#contract/action';
import { EMPTY_ID, isId, isSet, newId } from '#contract/ids';
import { defineAction } from '../action.ts';
import { callOf } from './on-call.ts';

const step = (id: string, type: ActionType, option: Record<string, unknown>): Action => ({
  id,
  next_id: EMPTY_ID,
  type,
  option,
  tm_execute: null,
});

export const conferenceJoin = defineAction({
  type: 'conference_join',
  summary: 'Joins a conference and goes on when the call has left it.',
  needs: 'call',
  onError: 'stop',
  option: z.object({ conference_id: z.string().max(64).default('').describe('A conference of the same customer.') }),
  async run(context, { conference_id }) {
    if (!isSet(conference_id) || !isId(conference_id)) throw new Error(`there is no conference ${conference_id}`);
    const entry = await callOf(context).joinConference(conference_id);
    // The conference finds the way in by these ids: the stack's and its last action's are the participant's.
    const { conferencecall_id, confbridge_id, pre_flow_id } = entry;
    const first = isSet(pre_flow_id) ? [step(newId(), 'fetch_flow', { flow_id: pre_flow_id })] : [];
    const enter = step(conferencecall_id, 'confbridge_join', { confbridge_id });
    return { kind: 'fork', actions: [...first, enter], stack_id: conferencecall_id };
  },
});

import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { targetId } from './options.ts';

export const goto = defineAction({
  type: 'goto',
  summary: 'Jumps a number of times, then goes on.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    target_id: targetId,
    loop_count: z.number().int().default(0).describe('How often it jumps; 0 never.'),
  }),
  async run({ action, loops }, { target_id, loop_count }) {
    const left = loops.get(action.id) ?? loop_count;
    if (left <= 0) return next;
    loops.set(action.id, left - 1);
    return { kind: 'jump', target_id };
  },
});

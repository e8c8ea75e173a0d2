import { z } from 'zod';
import { defineAction } from '../action.ts';
import { decision } from './decision.ts';
import { DIGITS } from './digits.ts';
import { targetId } from './options.ts';

export const conditionCallDigits = defineAction({
  type: 'condition_call_digits',
  summary: 'Deprecated: goes on when enough digits or a given one are stored, else jumps.',
  needs: 'call',
  onError: 'stop',
  option: z.object({
    length: z.number().int().default(0).describe('At least that many digits; 0 is no condition.'),
    key: z.string().max(64).default('').describe('Contained in the digits; empty is no condition.'),
    false_target_id: targetId,
  }),
  async run({ variables }, { length, key, false_target_id }) {
    const digits = variables.get(DIGITS);
    const holds = (length > 0 && digits.length >= length) || (key !== '' && digits.includes(key));
    return decision(holds, false_target_id);
  },
});

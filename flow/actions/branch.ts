import { z } from 'zod';
import { isSet } from '#contract/ids';
import { defineAction } from '../action.ts';
import { DIGITS } from './digits.ts';
import { targetId } from './options.ts';

export const branch = defineAction({
  type: 'branch',
  summary: 'Jumps by the value of a variable and resets the variable.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    variable: z.string().default('').describe('Name of the variable; empty is svc.call.digits.'),
    target_ids: z.record(z.string(), z.string()).default({}).describe('Value to id of the action.'),
    default_target_id: targetId,
  }),
  async run({ variables }, { variable, target_ids, default_target_id }) {
    const name = variable || DIGITS;
    const value = variables.get(name);
    if (variables.has(name)) variables.set(name, '');
    const matching = Object.hasOwn(target_ids, value) ? target_ids[value] : undefined;
    const target = matching ?? default_target_id;
    if (!isSet(target)) throw new Error('no target matches and there is no default');
    return { kind: 'jump', target_id: target };
  },
});

import { z } from 'zod';
import { defineAction, next } from '../action.ts';

export const variableSet = defineAction({
  type: 'variable_set',
  summary: 'Sets a variable.',
  needs: 'any',
  onError: 'next',
  option: z.object({
    key: z.string().max(1024).default('').describe('Name of the variable.'),
    value: z.string().default('').describe('Its new value.'),
  }),
  async run({ variables }, { key, value }) {
    variables.write(key, value);
    return next;
  },
});

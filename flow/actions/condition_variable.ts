import { z } from 'zod';
import { defineAction } from '../action.ts';
import type { Variables } from '../variables.ts';
import { compareNumbers, compareTexts } from './compare.ts';
import { decision } from './decision.ts';
import { operator, targetId } from './options.ts';

const option = z.object({
  condition: operator,
  variable: z.string().default('').describe('`${name}`, or the bare name of a variable.'),
  value_type: z.string().default('').describe('string, number or length.'),
  value_string: z.string().default('').describe('Compared when value_type is string.'),
  value_number: z.number().default(0).describe('Compared when value_type is number.'),
  value_length: z.number().int().default(0).describe("Compared with the value's length in characters."),
  false_target_id: targetId,
});

/** A guide shows bare names, the reference compares the substituted text; both work (voice-and-flows 6.5). */
const leftOperand = (variables: Variables, text: string): string => (variables.has(text) ? variables.get(text) : text);

const holds = (left: string, given: z.infer<typeof option>): boolean => {
  switch (given.value_type) {
    case 'string':
      return compareTexts(left, given.condition, given.value_string);
    case 'number':
      return compareNumbers(left.trim() === '' ? NaN : Number(left), given.condition, given.value_number);
    case 'length':
      return compareNumbers([...left].length, given.condition, given.value_length);
    default:
      return false;
  }
};

export const conditionVariable = defineAction({
  type: 'condition_variable',
  summary: 'Goes on when a variable compares true, else jumps.',
  needs: 'any',
  onError: 'stop',
  option,
  async run({ variables }, given) {
    return decision(holds(leftOperand(variables, given.variable), given), given.false_target_id);
  },
});

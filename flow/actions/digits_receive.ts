import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { pause } from '../pause.ts';
import type { Variables } from '../variables.ts';
import { appendDigit, DIGITS } from './digits.ts';
import { milliseconds } from './options.ts';

const option = z.object({
  duration: milliseconds.describe('The longest to wait, in milliseconds; 0 does not wait.'),
  length: z.number().int().default(0).describe('Enough digits; 0 is no condition.'),
  key: z.string().max(64).default('').describe('Any of these digits ends the wait; empty is none.'),
});

const isEnough = (variables: Variables, { length, key }: z.infer<typeof option>): boolean => {
  const digits = variables.get(DIGITS);
  return (length > 0 && digits.length >= length) || [...key].some(ending => digits.includes(ending));
};

export const digitsReceive = defineAction({
  type: 'digits_receive',
  summary: 'Collects the keys the caller presses in svc.call.digits; keys pressed before count.',
  needs: 'call',
  onError: 'next',
  option,
  async run({ variables, ports, signal, onDigit }, given) {
    const enough = new AbortController();
    if (isEnough(variables, given)) return next;
    onDigit(digit => {
      if (enough.signal.aborted) return;
      appendDigit(variables, digit);
      if (isEnough(variables, given)) enough.abort();
    });
    const either = AbortSignal.any([signal, enough.signal]);
    if (given.duration > 0 && !either.aborted) await pause(ports.clock, given.duration, either);
    return next;
  },
});

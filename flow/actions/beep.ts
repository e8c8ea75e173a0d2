import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { nothing } from './options.ts';

export const beep = defineAction({
  type: 'beep',
  summary: 'Plays a short tone and waits for its end.',
  needs: 'call',
  onError: 'next',
  option: nothing,
  async run(context) {
    await callOf(context).beep(context.signal);
    return next;
  },
});

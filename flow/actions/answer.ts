import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { nothing } from './options.ts';

export const answer = defineAction({
  type: 'answer',
  summary: 'Answers an incoming call.',
  needs: 'call',
  onError: 'next',
  option: nothing,
  async run(context) {
    await callOf(context).answer();
    return next;
  },
});

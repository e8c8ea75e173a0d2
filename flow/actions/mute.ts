import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { nothing } from './options.ts';

export const mute = defineAction({
  type: 'mute',
  summary: 'Mutes the call both ways: neither side hears the other, and the caller no announcement.',
  needs: 'call',
  onError: 'next',
  option: nothing,
  async run(context) {
    await callOf(context).mute();
    return next;
  },
});

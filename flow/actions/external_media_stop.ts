import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { nothing } from './options.ts';

export const externalMediaStop = defineAction({
  type: 'external_media_stop',
  summary: 'Ends all external media of the call.',
  needs: 'call',
  onError: 'next',
  option: nothing,
  async run(context) {
    callOf(context).stopExternalMedia();
    return next;
  },
});

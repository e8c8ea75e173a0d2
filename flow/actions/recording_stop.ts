import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { nothing } from './options.ts';

export const recordingStop = defineAction({
  type: 'recording_stop',
  summary: 'Stops the recording of the call; nothing happens when none is active.',
  needs: 'call',
  onError: 'next',
  option: nothing,
  async run(context) {
    await callOf(context).stopRecording();
    return next;
  },
});

import { z } from 'zod';
import { recordingOptionsSchema, recordingVariables } from '#contract/recording';
import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';

export const recordingStart = defineAction({
  type: 'recording_start',
  summary: 'Starts to record the call and goes on; sets svc.recording.*. Hold and mute do not pause it.',
  needs: 'call',
  onError: 'next',
  option: recordingOptionsSchema.extend({ beep_start: z.boolean().default(false).describe('Has no effect.') }),
  async run(context, { beep_start: _ignored, ...options }) {
    const recording = await callOf(context).startRecording(options);
    for (const [name, value] of Object.entries(recordingVariables(recording))) context.variables.set(name, value);
    return next;
  },
});

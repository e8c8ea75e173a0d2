import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { overwriteDigit } from './digits.ts';
import { callOf } from './on-call.ts';

export const play = defineAction({
  type: 'play',
  summary: 'Plays audio files in order, as one playback, and waits for the end.',
  needs: 'call',
  onError: 'next',
  option: z.object({
    stream_urls: z.array(z.string().max(2048)).max(100).default([]).describe('URLs of the audio.'),
  }),
  async run(context, { stream_urls }) {
    context.onDigit(digit => overwriteDigit(context.variables, digit));
    if (stream_urls.length > 0) await callOf(context).play(stream_urls, context.signal);
    return next;
  },
});

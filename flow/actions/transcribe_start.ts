import { z } from 'zod';
import { transcription } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const transcribeStart = defineUnavailable({
  type: 'transcribe_start',
  summary: 'Starts to write down what is said on the call and goes on.',
  needs: 'call',
  onError: 'next',
  option: z.object(transcription),
});

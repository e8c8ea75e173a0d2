import { z } from 'zod';
import { transcription } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const transcribeRecording = defineUnavailable({
  type: 'transcribe_recording',
  summary: 'Writes down every recording of the call.',
  needs: 'any',
  onError: 'next',
  option: z.object(transcription),
});

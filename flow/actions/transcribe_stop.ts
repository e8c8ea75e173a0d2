import { nothing } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const transcribeStop = defineUnavailable({
  type: 'transcribe_stop',
  summary: 'Ends all transcriptions of the call.',
  needs: 'call',
  onError: 'next',
  option: nothing,
});

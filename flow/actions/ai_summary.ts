import { z } from 'zod';
import { language, reference } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const aiSummary = defineUnavailable({
  type: 'ai_summary',
  summary: 'Writes a summary of a call, conference, transcription or recording and goes on.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    reference_type: z
      .enum(['', 'call', 'conference', 'transcribe', 'recording'])
      .default('')
      .describe('What to summarise; empty: what the flow runs for.'),
    reference_id: reference("Its id; empty: the flow's own reference."),
    language: language.describe('BCP47; the language of the summary.'),
    on_end_flow_id: reference('Flow to run when it is done.'),
  }),
});

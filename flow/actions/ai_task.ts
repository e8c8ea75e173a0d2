import { z } from 'zod';
import { assistance } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const aiTask = defineUnavailable({
  type: 'ai_task',
  summary: 'Gives an AI a task in text and goes on when it is done.',
  needs: 'any',
  onError: 'stop',
  option: z.object(assistance),
});

import { z } from 'zod';
import { assistance } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const aiTalk = defineUnavailable({
  type: 'ai_talk',
  summary: 'Lets an AI or a team of AIs talk with the party and goes on when they are done.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    ...assistance,
    duration: z.number().int().default(0).describe('The longest they may talk, in seconds; 0 has no limit.'),
  }),
});

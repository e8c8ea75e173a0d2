import { z } from 'zod';
import { destinations, source } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const messageSend = defineUnavailable({
  type: 'message_send',
  summary: 'Sends a text message.',
  needs: 'any',
  onError: 'stop',
  option: z.object({
    source: source.describe('Number it comes from.'),
    destinations: destinations.describe('To whom.'),
    text: z.string().default('').describe('The message.'),
  }),
});

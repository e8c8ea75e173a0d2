import { z } from 'zod';
import { destinations, reference } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const emailSend = defineUnavailable({
  type: 'email_send',
  summary: 'Sends an email.',
  needs: 'any',
  onError: 'next',
  option: z.object({
    destinations: destinations.describe('To whom; addresses of type email.'),
    subject: z.string().default('').describe('Subject.'),
    content: z.string().default('').describe('Text.'),
    attachments: z
      .array(z.object({ reference_type: z.enum(['', 'recording']).default(''), reference_id: reference('Its id.') }))
      .max(100)
      .default([])
      .describe('What to attach: recordings.'),
  }),
});

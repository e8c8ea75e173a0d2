import { z } from 'zod';
import { reference } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const conversationSend = defineUnavailable({
  type: 'conversation_send',
  summary: 'Sends a message into a conversation.',
  needs: 'any',
  onError: 'next',
  option: z.object({
    conversation_id: reference('The conversation.'),
    text: z.string().default('').describe('The message.'),
    sync: z.boolean().default(false).describe('True: wait until it was sent.'),
  }),
});

import { z } from 'zod';
import { addressSchema, type Anonymous, ANONYMOUS_VALUES } from '#contract/address';
import { EMPTY_ID } from '#contract/ids';

/** Options that several actions share. Every option is optional at parse time (voice-and-flows 6). */

export const nothing = z.object({});

/** Milliseconds; negative values count as none. */
export const milliseconds = z
  .number()
  .int()
  .default(0)
  .transform(ms => Math.max(0, ms))
  .describe('Milliseconds.');

export const targetId = z.string().max(64).default(EMPTY_ID).describe('Id of an action of this or an outer flow.');

export const operator = z.string().max(16).default('').describe('One of ==, !=, >, >=, <, <=.');

export const anonymous = z
  .enum(ANONYMOUS_VALUES)
  .default('auto')
  .transform((value): Anonymous => value || 'auto')
  .describe('Whether to hide the caller.');

export const destinations = z.array(addressSchema).max(100).default([]).describe('Whom to call.');
export const source = addressSchema.optional().describe('Who calls.');

/** Id of something the action works on; looked up when it runs. */
export const reference = (meaning: string) => z.string().max(64).default(EMPTY_ID).describe(meaning);

export const language = z.string().max(35).default('');

/** Who helps: an AI or a team of them (voice-and-flows 6.2). */
export const assistance = {
  assistance_type: z.enum(['', 'ai', 'team']).default('').describe('ai or team.'),
  assistance_id: reference('The AI or team.'),
  ai_id: reference('Deprecated: the AI, when assistance_type is empty.'),
};

/** How speech is written down (voice-and-flows 6.3). */
export const transcription = {
  language: language.describe('BCP47; what is spoken.'),
  provider: z.enum(['', 'provider_b', 'provider_c']).default('').describe('Empty chooses by itself.'),
  direction: z.enum(['', 'in', 'out', 'both']).default('both').describe('Which side: in, out or both (default).'),
  on_end_flow_id: reference('Flow to run when it ended.'),
};

import { z } from 'zod';
import { addressSchema } from '#contract/address';
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
  .enum(['', 'yes', 'no', 'auto'])
  .default('auto')
  .transform(value => value || 'auto')
  .describe('Whether to hide the caller.');

export const destinations = z.array(addressSchema).max(100).default([]).describe('Whom to call.');
export const source = addressSchema.optional().describe('Who calls.');

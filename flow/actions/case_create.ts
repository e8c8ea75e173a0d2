import { z } from 'zod';
import { defineUnavailable } from './unavailable.ts';

export const caseCreate = defineUnavailable({
  type: 'case_create',
  summary: 'Opens a case with the remote party; sets contact_case_id.',
  needs: 'any',
  onError: 'next',
  option: z.object({
    name: z.string().default('').describe('Name of the case.'),
    detail: z.string().default('').describe('What it is about.'),
    note: z.string().default('').describe('Its first note; empty is none.'),
    sync: z.boolean().default(false).describe('True: wait until it is opened.'),
  }),
});

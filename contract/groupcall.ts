import { z } from 'zod';
import { addressSchema } from './address.ts';
import { GROUPCALL_STATUSES } from './machines/groupcall.ts';

/** `ring_all`: everybody at once; `linear`: one destination after the other. */
export const RING_METHODS = ['ring_all', 'linear'] as const;
/** `hangup_others`: the first answer ends all other legs; empty: it does nothing. */
export const ANSWER_METHODS = ['hangup_others', ''] as const;

/** Several legs rung for one destination; the first to answer wins (voice-and-flows 11.1). */
export const groupcallSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    owner_type: z.string(),
    owner_id: z.string(),
    status: z.enum(GROUPCALL_STATUSES),
    flow_id: z.string().describe('Run by the answered call.'),
    source: addressSchema,
    destinations: z.array(addressSchema),
    master_call_id: z.string(),
    master_groupcall_id: z.string(),
    ring_method: z.enum(RING_METHODS),
    answer_method: z.enum(ANSWER_METHODS),
    answer_call_id: z.string(),
    call_ids: z.array(z.string()),
    answer_groupcall_id: z.string(),
    groupcall_ids: z.array(z.string()),
    call_count: z.number().int().describe('Legs still alive.'),
    groupcall_count: z.number().int(),
    dial_index: z.number().int(),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Groupcall', description: 'Several legs rung for one destination.' });

export type Groupcall = z.infer<typeof groupcallSchema>;

import { z } from 'zod';
import { CONFERENCECALL_STATUSES } from './machines/conferencecall.ts';

/** One call's participation in a conference (voice-and-flows 13.4). */
export const conferencecallSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    activeflow_id: z.string(),
    conference_id: z.string(),
    reference_type: z.literal('call'),
    reference_id: z.string().describe('The call.'),
    status: z.enum(CONFERENCECALL_STATUSES),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Conferencecall', description: "One call's participation in a conference." });

export type Conferencecall = z.infer<typeof conferencecallSchema>;

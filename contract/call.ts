import { z } from 'zod';
import { actionSchema, type Action } from './action.ts';
import { addressSchema, type Address } from './address.ts';
import { HANGUP_BY, HANGUP_REASONS } from './hangup.ts';
import { EMPTY_ID } from './ids.ts';
import { CALL_STATUSES } from './machines/call.ts';
import { MUTE_DIRECTIONS } from './mute.ts';

const moment = z.string().nullable();

/** A call as the API shows it (platform-api Call, voice-and-flows 8.1). One call is one leg towards one party. */
export const callSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    owner_type: z.string().describe('`agent` or empty.'),
    owner_id: z.string(),
    flow_id: z.string().describe('The flow the call runs, the empty UUID when none.'),
    activeflow_id: z.string(),
    type: z.literal('flow'),
    master_call_id: z.string().describe('The call this one is chained to.'),
    chained_call_ids: z.array(z.string()),
    recording_id: z.string().describe('The active recording.'),
    recording_ids: z.array(z.string()),
    groupcall_id: z.string(),
    source: addressSchema,
    destination: addressSchema,
    status: z.enum(CALL_STATUSES),
    direction: z.enum(['incoming', 'outgoing']),
    mute_direction: z.enum(MUTE_DIRECTIONS),
    hangup_by: z.enum(HANGUP_BY),
    hangup_reason: z.enum(HANGUP_REASONS),
    action: actionSchema.describe('The action being executed.'),
    tm_ringing: moment,
    tm_progressing: moment,
    tm_hangup: moment,
    tm_create: moment,
    tm_update: moment,
    tm_delete: moment,
  })
  .meta({ id: 'Call', description: 'One leg between the platform and one party.' });

export type Call = z.infer<typeof callSchema>;

/** The fields people look for first come first. */
const identity = ({ id, customer_id }: Pick<Call, 'id' | 'customer_id'>) => ({ id, customer_id });

/** A new call with everything unset that nobody set. */
export const newCall = (
  given: Pick<Call, 'id' | 'customer_id' | 'direction' | 'status' | 'tm_create'> & {
    source: Address;
    destination: Address;
    action: Action;
  } & Partial<Call>,
): Call => ({
  ...identity(given),
  owner_type: '',
  owner_id: EMPTY_ID,
  flow_id: EMPTY_ID,
  activeflow_id: EMPTY_ID,
  type: 'flow',
  master_call_id: EMPTY_ID,
  chained_call_ids: [],
  recording_id: EMPTY_ID,
  recording_ids: [],
  groupcall_id: EMPTY_ID,
  mute_direction: '',
  hangup_by: '',
  hangup_reason: '',
  tm_ringing: null,
  tm_progressing: null,
  tm_hangup: null,
  tm_update: null,
  tm_delete: null,
  ...given,
});

import { z } from 'zod';
import { EMPTY_ID } from './ids.ts';

/** Every action type the API accepts in a flow (platform-api, Action). */
export const ACTION_TYPES = [
  'ai_summary',
  'ai_talk',
  'ai_task',
  'amd',
  'answer',
  'beep',
  'block',
  'branch',
  'call',
  'case_create',
  'condition_call_digits',
  'condition_call_status',
  'condition_datetime',
  'condition_variable',
  'confbridge_join',
  'conference_join',
  'connect',
  'conversation_send',
  'digits_receive',
  'digits_send',
  'echo',
  'email_send',
  'external_media_start',
  'external_media_stop',
  'fetch',
  'fetch_flow',
  'goto',
  'hangup',
  'message_send',
  'mute',
  'play',
  'queue_join',
  'recording_start',
  'recording_stop',
  'sleep',
  'stop',
  'stream_echo',
  'talk',
  'transcribe_start',
  'transcribe_stop',
  'transcribe_recording',
  'variable_set',
  'webhook_send',
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

/** Reserved action ids (voice-and-flows 3). */
export const START_ACTION_ID = '00000000-0000-0000-0000-000000000001';
export const FINISH_ACTION_ID = '00000000-0000-0000-0000-000000000002';

/** One step of a flow as stored and shown. `type` is empty for the start and finish markers. */
export interface Action {
  id: string;
  next_id: string;
  type: ActionType | '';
  option: Record<string, unknown>;
  tm_execute: string | null;
}

export const actionSchema = z
  .object({
    id: z.string().describe('Set it only when another action refers to it.'),
    next_id: z.string().describe('Overrides the next action; the empty UUID means the next array element.'),
    type: z.enum([...ACTION_TYPES, '']).describe('What the action does.'),
    option: z.record(z.string(), z.unknown()).describe('Depends on the type.'),
    tm_execute: z.string().nullable().describe('When it was executed; read-only.'),
  })
  .meta({ id: 'Action', description: 'One step of a flow.' });

/** An action as a client may write it: everything but `type` is optional (voice-and-flows 2.3 and 3). */
export const actionInputSchema = z.object({
  id: z.string().optional(),
  next_id: z.string().optional(),
  type: z.string(),
  option: z.record(z.string(), z.unknown()).optional(),
});
export type ActionInput = z.infer<typeof actionInputSchema>;

const marker = (id: string): Action => ({ id, next_id: EMPTY_ID, type: '', option: {}, tm_execute: null });
export const START_ACTION = marker(START_ACTION_ID);
export const FINISH_ACTION = marker(FINISH_ACTION_ID);

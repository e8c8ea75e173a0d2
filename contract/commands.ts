import { z } from 'zod';
import { activeflowSchema } from './activeflow.ts';
import { addressSchema, ANONYMOUS_VALUES } from './address.ts';
import { banSchema } from './ban.ts';
import { callSchema } from './call.ts';
import { conferenceSchema, conferenceSettingsSchema } from './conference.ts';
import { conferencecallSchema } from './conferencecall.ts';
import type { Reason } from './errors.ts';
import { flowTemplateSchema } from './flow.ts';
import { ANSWER_METHODS, groupcallSchema, RING_METHODS } from './groupcall.ts';
import { ENCAPSULATIONS } from './media-stream.ts';
import { MUTE_DIRECTIONS } from './mute.ts';
import { TRANSFER_TYPES, transferSchema } from './transfer.ts';
import { recordingOptionsSchema, recordingSchema } from './recording.ts';

/** Something of a call that is switched on or off. */
const switchSchema = z.object({ call_id: z.uuid(), on: z.boolean() });
const nothing = z.object({});

/**
 * The orders control-api gives to media-app: name → who may take it, how long it is worth obeying, body and result.
 * `to: 'any'` goes to the shared queue, `to: 'owner'` to the queue of the node that owns the record. `repeatable`: a
 * redelivery may be obeyed again; otherwise it is obeyed at most once, because somebody could be dialled twice.
 */
export const commands = {
  'call.create': {
    to: 'any',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({
      source: addressSchema,
      destinations: z.array(addressSchema).min(1),
      flow: flowTemplateSchema,
      variables: z.record(z.string(), z.string()),
      anonymous: z.enum(ANONYMOUS_VALUES),
      /** Telephone destinations go through this provider and no other (accounts-and-plumbing 24). */
      provider_id: z.uuid().optional(),
    }),
    result: z.object({ calls: z.array(callSchema), groupcalls: z.array(groupcallSchema) }),
  },
  'call.hangup': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ call_id: z.uuid() }),
    result: callSchema,
  },
  'call.hold': { to: 'owner', repeatable: true, ttl_ms: 15_000, body: switchSchema, result: nothing },
  'call.moh': { to: 'owner', repeatable: true, ttl_ms: 15_000, body: switchSchema, result: nothing },
  'call.silence': { to: 'owner', repeatable: true, ttl_ms: 15_000, body: switchSchema, result: nothing },
  'call.mute': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: switchSchema.extend({ direction: z.enum(MUTE_DIRECTIONS) }),
    result: nothing,
  },
  'call.talk': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({
      call_id: z.uuid(),
      text: z.string(),
      language: z.string(),
      provider: z.string(),
      voice_id: z.string(),
    }),
    result: nothing,
  },
  'groupcall.create': {
    to: 'any',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({
      source: addressSchema,
      destinations: z.array(addressSchema).min(1),
      flow: flowTemplateSchema,
      variables: z.record(z.string(), z.string()),
      ring_method: z.enum(RING_METHODS),
      answer_method: z.enum(ANSWER_METHODS),
    }),
    result: groupcallSchema,
  },
  'groupcall.hangup': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ groupcall_id: z.uuid() }),
    result: groupcallSchema,
  },
  'call.recording_start': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: recordingOptionsSchema.extend({ call_id: z.uuid() }),
    result: callSchema,
  },
  'call.recording_stop': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({ call_id: z.uuid() }),
    result: callSchema,
  },
  'recording.stop': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ recording_id: z.uuid() }),
    result: recordingSchema,
  },
  /** Answers with the address at which the node gives and takes the call's audio: once, and within seconds. */
  'call.media_stream': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 5_000,
    body: z.object({ call_id: z.uuid(), encapsulation: z.enum(ENCAPSULATIONS) }),
    result: z.object({ url: z.string() }),
  },
  'activeflow.create': {
    to: 'any',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({
      id: z.uuid(),
      flow: flowTemplateSchema,
      variables: z.record(z.string(), z.string()),
      webhook_uri: z.string(),
      webhook_method: z.enum(['', 'POST', 'GET', 'PUT', 'DELETE']),
    }),
    result: activeflowSchema,
  },
  'activeflow.stop': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ activeflow_id: z.uuid() }),
    result: activeflowSchema,
  },
  /** Resumes a blocked activeflow; a second order finds it elsewhere and is refused. */
  'activeflow.continue': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({ activeflow_id: z.uuid(), current_action_id: z.string() }),
    result: activeflowSchema,
  },
  'conference.create': {
    to: 'any',
    repeatable: false,
    ttl_ms: 15_000,
    body: conferenceSettingsSchema.extend(conferenceSchema.pick({ id: true, type: true, direct_hash: true }).shape),
    result: conferenceSchema,
  },
  'conference.update': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({
      conference_id: z.uuid(),
      changes: conferenceSettingsSchema.extend({ direct_hash: z.string() }).partial(),
    }),
    result: conferenceSchema,
  },
  'conference.delete': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ conference_id: z.uuid() }),
    result: conferenceSchema,
  },
  'conference.recording_start': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: recordingOptionsSchema.extend({ conference_id: z.uuid() }),
    result: conferenceSchema,
  },
  'conference.recording_stop': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({ conference_id: z.uuid() }),
    result: conferenceSchema,
  },
  /** Like `call.media_stream`, with everybody in the conference on the other side. */
  'conference.media_stream': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 5_000,
    body: z.object({ conference_id: z.uuid(), encapsulation: z.enum(ENCAPSULATIONS) }),
    result: z.object({ url: z.string() }),
  },
  'conferencecall.kick': {
    to: 'owner',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ conferencecall_id: z.uuid(), conference_id: z.uuid() }),
    result: conferencecallSchema,
  },
  'transfer.create': {
    to: 'owner',
    repeatable: false,
    ttl_ms: 15_000,
    body: z.object({
      transfer_type: z.enum(TRANSFER_TYPES),
      transferer_call_id: z.uuid(),
      transferee_addresses: z.array(addressSchema).min(1),
    }),
    result: transferSchema,
  },
  'ban.create': {
    to: 'any',
    repeatable: true,
    ttl_ms: 15_000,
    body: z.object({ address: z.string(), detail: z.string(), duration_s: z.int() }),
    result: banSchema,
  },
  'ban.lift': { to: 'any', repeatable: false, ttl_ms: 15_000, body: z.object({ ban_id: z.uuid() }), result: banSchema },
  'extension.unregister': {
    to: 'any',
    repeatable: true,
    ttl_ms: 600_000,
    body: z.object({ extension_id: z.uuid() }),
    result: z.object({}),
  },
} as const satisfies Record<
  string,
  { to: 'any' | 'owner'; repeatable: boolean; ttl_ms: number; body: z.ZodType; result: z.ZodType }
>;

export type CommandName = keyof typeof commands;
export type CommandBody<N extends CommandName> = z.infer<(typeof commands)[N]['body']>;
export type CommandResult<N extends CommandName> = z.infer<(typeof commands)[N]['result']>;

/** A command as it lies in the queue; its BullMQ job id is `id`, so one command is one job. */
export interface Command<N extends CommandName = CommandName> {
  name: N;
  id: string;
  customer_id: string;
  request_id: string;
  /** Milliseconds since the epoch. Older than `ttl_ms` it is not obeyed any more. */
  issued_at: number;
  /** Id of the control-api that waits on `keys.replies(id)`, or null when nobody waits. */
  reply_to: string | null;
  /** True when its id comes again with the request it serves: obeyed once a day, and its reply is kept as long. */
  once?: boolean;
  body: CommandBody<N>;
}

/** The answer to a command, published as JSON on `keys.replies(reply_to)`. */
export type CommandReply<N extends CommandName = CommandName> =
  | { command_id: string; ok: true; result: CommandResult<N> }
  | { command_id: string; ok: false; reason: Reason; message: string };

import { z } from 'zod';
import type { Call } from '#contract/call';
import type { CommandBody } from '#contract/commands';
import { PlatformError, type Reason } from '#contract/errors';
import { MUTE_DIRECTIONS } from '#contract/mute';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import type { Permission } from '../http/permit.ts';
import { calls } from './calls.ts';
import { idParams } from './crud.ts';
import { findLive } from './live.ts';

/** What is done to the sound of a live call (voice-and-flows 10). Each answers 200 with an empty body. */
type Control = 'call.hold' | 'call.moh' | 'call.silence' | 'call.mute' | 'call.talk';

const REASONS: Reason[] = ['CALL_NOT_FOUND', 'CALL_ALREADY_HANGUP', 'CALL_STATE_INVALID', 'REQUEST_TIMEOUT'];

/** Refuses what media-app would refuse too, without asking it. */
const requireStatus = ({ status, direction }: Call, name: Control): void => {
  if (status === 'hangup') throw new PlatformError('CALL_ALREADY_HANGUP', 'The call has ended already.');
  if (status === 'canceling' || status === 'terminating')
    throw new PlatformError('CALL_STATE_INVALID', 'The call is ending.');
  const answers = name === 'call.talk' && direction === 'incoming';
  if (status !== 'progressing' && !answers)
    throw new PlatformError('CALL_STATE_INVALID', 'The call is not answered yet.');
};

/** Orders it from the node that holds the call. */
const order = async <N extends Control>(
  name: N,
  request: RouteRequest<{ id: string }>,
  body: Omit<CommandBody<N>, 'call_id'>,
): Promise<undefined> => {
  const { data, owner } = await findLive(calls, request, request.params.id);
  requireStatus(data, name);
  if (owner === undefined) throw new PlatformError('CALL_STATE_INVALID', 'No media node holds this call any more.');
  const { request_id, context } = request;
  const given = { ...body, call_id: data.id } as unknown as CommandBody<N>; // the id is what was left out
  await context.commands.send(name, { customer_id: data.customer_id, request_id, body: given, owner });
  return undefined;
};

const empty = z.undefined();
const permission: Permission = 'manager';
const common = { tag: 'Call', permission, params: idParams, response: empty, reasons: REASONS };

/** POST switches something on, DELETE off. */
const switchRoutes = (name: 'hold' | 'moh' | 'silence', on: string, off: string): Route[] => [
  defineRoute({
    ...common,
    method: 'post',
    path: `/calls/{id}/${name}`,
    operation_id: `start_call_${name}`,
    summary: on,
    handle: request => order(`call.${name}`, request, { on: true }),
  }),
  defineRoute({
    ...common,
    method: 'delete',
    path: `/calls/{id}/${name}`,
    operation_id: `stop_call_${name}`,
    summary: off,
    handle: request => order(`call.${name}`, request, { on: false }),
  }),
];

const muteBody = z.object({
  direction: z
    .enum(MUTE_DIRECTIONS)
    .default('')
    .describe('`in`: the party no longer hears the other side; `out`: it is no longer heard. Empty: both.'),
});

const mute = defineRoute({
  ...common,
  method: 'post',
  path: '/calls/{id}/mute',
  operation_id: 'mute_call',
  summary: 'Mute one call in a direction; it replaces what was muted before',
  body: muteBody,
  handle: request => order('call.mute', request, { direction: request.body.direction, on: true }),
});

const unmute = defineRoute({
  ...common,
  method: 'delete',
  path: '/calls/{id}/mute',
  operation_id: 'unmute_call',
  summary: 'Open a direction of one call again',
  body: muteBody,
  handle: request => order('call.mute', request, { direction: request.body.direction, on: false }),
});

/** Longer texts are no announcements. */
const LONGEST_TEXT = 10_000;

const talk = defineRoute({
  ...common,
  method: 'post',
  path: '/calls/{id}/talk',
  operation_id: 'talk_to_call',
  summary: 'Speak to the party of one call; its flow goes on, unheard meanwhile. Answers an incoming call first',
  body: z.object({
    text: z
      .string()
      .max(LONGEST_TEXT)
      .refine(text => text.trim() !== '', 'needs words')
      .describe('Plain text or SSML.'),
    language: z.string().max(35).default('').describe('BCP47; empty is the default of the voice.'),
    provider: z.string().max(64).default('').describe('provider_b (default) or provider_c.'),
    voice_id: z.string().max(64).default('').describe('A voice of the provider; empty is its default.'),
  }),
  handle: request => order('call.talk', request, { ...request.body, provider: request.body.provider || 'provider_b' }),
});

export const callControlRoutes: Route[] = [
  ...switchRoutes('hold', 'Put the party of one call on hold', 'Take the party of one call off hold'),
  ...switchRoutes('moh', 'Let the party of one call hear music on hold', 'End the music on hold of one call'),
  ...switchRoutes('silence', 'Let the party of one call hear silence', 'End the silence of one call'),
  mute,
  unmute,
  talk,
];

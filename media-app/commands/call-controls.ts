import { PlatformError } from '#contract/errors';
import type { CallControls } from '../call/controls.ts';
import type { Services } from '../services.ts';
import type { CommandHandler } from './catalogue.ts';

const controlsOf = (services: Services, callId: string): CallControls => {
  const session = services.registry.calls.get(callId);
  if (!session) throw new PlatformError('CALL_ALREADY_HANGUP', 'The call has ended.');
  return session.controls;
};

/** POST and DELETE /calls/{id}/hold. */
export const callHold: CommandHandler<'call.hold'> = async (services, { call_id, on }) => {
  await controlsOf(services, call_id).hold(on);
  return {};
};

/** POST and DELETE /calls/{id}/moh. */
export const callMoh: CommandHandler<'call.moh'> = async (services, { call_id, on }) => {
  await controlsOf(services, call_id).music(on);
  return {};
};

/** POST and DELETE /calls/{id}/silence. */
export const callSilence: CommandHandler<'call.silence'> = async (services, { call_id, on }) => {
  await controlsOf(services, call_id).silence(on);
  return {};
};

/** POST and DELETE /calls/{id}/mute. */
export const callMute: CommandHandler<'call.mute'> = async (services, { call_id, direction, on }) => {
  await controlsOf(services, call_id).mute(direction, on);
  return {};
};

/** POST /calls/{id}/talk: answers when the speech begins. */
export const callTalk: CommandHandler<'call.talk'> = async (services, { call_id, ...speech }) => {
  await controlsOf(services, call_id).talk(speech);
  return {};
};

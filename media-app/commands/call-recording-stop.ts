import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /calls/{id}/recording_stop: answers with the call, which names no recording any more. */
export const callRecordingStop: CommandHandler<'call.recording_stop'> = async (services, { call_id }) => {
  const session = services.registry.calls.get(call_id);
  if (!session) throw new PlatformError('RECORDING_NOT_ACTIVE', 'The call has ended.');
  return session.recordings.stop();
};

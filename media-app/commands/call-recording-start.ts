import { PlatformError } from '#contract/errors';
import { recordingVariables } from '#contract/recording';
import type { CommandHandler } from './catalogue.ts';

/** POST /calls/{id}/recording_start: answers with the call once it is being recorded. */
export const callRecordingStart: CommandHandler<'call.recording_start'> = async (services, body, origin) => {
  const { call_id, ...options } = body;
  const session = services.registry.calls.get(call_id);
  if (!session) throw new PlatformError('CALL_STATE_INVALID', 'The call has ended.');
  const recording = await session.recordings.start(options, origin.request_id);
  for (const [name, value] of Object.entries(recordingVariables(recording)))
    session.flow?.runner.variables.set(name, value);
  return session.call;
};

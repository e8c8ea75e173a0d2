import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** Ends one recording, whatever it records, and answers with it once its files are kept. */
export const recordingStop: CommandHandler<'recording.stop'> = async (services, { recording_id }) => {
  const session = services.registry.recordings.get(recording_id);
  if (!session) throw new PlatformError('RECORDING_NOT_ACTIVE', 'The recording has ended.');
  await session.stop();
  await session.ended;
  return session.recording;
};

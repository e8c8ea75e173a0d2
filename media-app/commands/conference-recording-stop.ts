import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /conferences/{id}/recording_stop: answers with the conference, which names no recording any more. */
export const conferenceRecordingStop: CommandHandler<'conference.recording_stop'> = async (
  services,
  { conference_id },
) => {
  const session = services.registry.conferences.get(conference_id);
  if (!session) throw new PlatformError('RECORDING_NOT_ACTIVE', 'The conference is over.');
  await session.recordings.stop();
  return session.conference;
};

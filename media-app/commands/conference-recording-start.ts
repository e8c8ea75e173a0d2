import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /conferences/{id}/recording_start: answers with the conference once it is being recorded. */
export const conferenceRecordingStart: CommandHandler<'conference.recording_start'> = async (
  services,
  { conference_id, ...options },
  origin,
) => {
  const session = services.registry.conferences.get(conference_id);
  if (!session) throw new PlatformError('STATE_INVALID', 'The conference is over.');
  await session.recordings.start(options, origin.request_id);
  return session.conference;
};

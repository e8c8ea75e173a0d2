import { PlatformError } from '#contract/errors';
import { streamConference } from '../conference/stream.ts';
import type { CommandHandler } from './catalogue.ts';

/** GET /conferences/{id}/media_stream: seats the stream in the conference and says where to fetch it. */
export const conferenceMediaStream: CommandHandler<'conference.media_stream'> = async (services, body) => {
  const session = services.registry.conferences.get(body.conference_id);
  if (!session) throw new PlatformError('STATE_INVALID', 'The conference is over.');
  return streamConference(services, session, body.encapsulation);
};

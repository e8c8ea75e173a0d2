import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** DELETE /conferences/{id}: puts everybody out. */
export const conferenceDelete: CommandHandler<'conference.delete'> = async (services, { conference_id }) => {
  const session = services.registry.conferences.get(conference_id);
  if (!session) throw new PlatformError('CONFERENCE_NOT_FOUND', 'The conference is not held here any more.');
  return session.end();
};

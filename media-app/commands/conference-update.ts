import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** PUT /conferences/{id}. */
export const conferenceUpdate: CommandHandler<'conference.update'> = async (services, { conference_id, changes }) => {
  const session = services.registry.conferences.get(conference_id);
  if (!session) throw new PlatformError('STATE_INVALID', 'The conference is over.');
  return session.update(changes);
};

import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** DELETE /conferencecalls/{id}: puts one participant out. */
export const conferencecallKick: CommandHandler<'conferencecall.kick'> = async (
  services,
  { conferencecall_id, conference_id },
) => {
  const left = await services.registry.conferences.get(conference_id)?.kick(conferencecall_id);
  if (!left) throw new PlatformError('CONFERENCECALL_NOT_FOUND', 'The participant is not held here any more.');
  return left;
};

import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /groupcalls: rings, and answers with the record as it was made. */
export const groupcallCreate: CommandHandler<'groupcall.create'> = (services, body, origin) =>
  services.placeGroupcall({ ...body, ...origin });

/** POST /groupcalls/{id}/hangup: every leg gets a hang-up; one that is ending already is left as it is. */
export const groupcallHangup: CommandHandler<'groupcall.hangup'> = async (services, { groupcall_id }) => {
  const session = services.registry.groupcalls.get(groupcall_id);
  if (!session) throw new PlatformError('GROUPCALL_NOT_FOUND', 'The groupcall has ended.');
  return session.hangup('normal_clearing');
};

import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /calls/{id}/hangup: normal clearing; a call that is ending already is left as it is. */
export const callHangup: CommandHandler<'call.hangup'> = async (services, { call_id }) => {
  const session = services.registry.calls.get(call_id);
  if (!session) throw new PlatformError('CALL_ALREADY_HANGUP', 'The call has ended.');
  return session.hangup('normal_clearing');
};

import { PlatformError } from '#contract/errors';
import { startTransfer } from '../transfer/session.ts';
import type { CommandHandler } from './catalogue.ts';

/** POST /transfers: begins, and answers with the record as it was made. */
export const transferCreate: CommandHandler<'transfer.create'> = async (services, body, { request_id }) => {
  const call = services.registry.calls.get(body.transferer_call_id);
  if (!call) throw new PlatformError('CALL_STATE_INVALID', 'The call has ended.');
  const { transfer_type: type, transferee_addresses } = body;
  const session = await startTransfer(services, call, { type, transferee_addresses, request_id });
  return session.made;
};

import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** A source gets no answer from now on. */
export const banCreate: CommandHandler<'ban.create'> = async ({ guard }, { address, detail, duration_s }, from) => {
  const ban = await guard.ban(address, detail, duration_s * 1000, from.request_id);
  if (!ban) throw new PlatformError('ALREADY_EXISTS', 'This source is banned already.');
  return ban;
};

/** A source is heard again at once, and begins without a record. */
export const banLift: CommandHandler<'ban.lift'> = async ({ guard }, { ban_id }, from) => {
  const ban = await guard.lift(ban_id, from.request_id);
  if (!ban) throw new PlatformError('BAN_NOT_FOUND', 'Ban not found.');
  return ban;
};

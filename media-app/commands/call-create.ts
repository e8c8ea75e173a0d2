import type { CommandHandler } from './catalogue.ts';

/** POST /calls: places the calls and answers with their records. */
export const callCreate: CommandHandler<'call.create'> = async (services, body, origin) => {
  const { calls, groupcalls } = await services.placeCalls({ ...body, ...origin });
  return { calls, groupcalls };
};

import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/** POST /activeflows/{id}/stop: ends it; an activeflow of a call takes the call with it (voice-and-flows 4.10). */
export const activeflowStop: CommandHandler<'activeflow.stop'> = async (services, { activeflow_id }) => {
  const session = services.registry.activeflows.get(activeflow_id);
  if (!session) throw new PlatformError('ACTIVEFLOW_NOT_FOUND', 'The activeflow is not running here.');
  await session.runner.stop();
  return session.activeflow;
};

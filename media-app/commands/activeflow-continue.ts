import { PlatformError } from '#contract/errors';
import type { CommandHandler } from './catalogue.ts';

/**
 * POST /activeflows/{id}/continue: resumes an activeflow that is blocked at the named action (voice-and-flows 4.9), and
 * answers with it as it stood there.
 */
export const activeflowContinue: CommandHandler<'activeflow.continue'> = async (
  services,
  { activeflow_id, current_action_id },
) => {
  const session = services.registry.activeflows.get(activeflow_id);
  if (!session) throw new PlatformError('ACTIVEFLOW_NOT_FOUND', 'The activeflow is not running here.');
  const blocked = structuredClone(session.activeflow);
  session.runner.continue(current_action_id);
  return blocked;
};

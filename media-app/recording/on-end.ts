import { isSet } from '#contract/ids';
import { type Recording, recordingVariables } from '#contract/recording';
import { ActiveflowSession } from '../activeflow/session.ts';
import type { Services } from '../services.ts';

/**
 * Runs the on-end flow of an ended recording (voice-and-flows 14.2): without a reference, with the variables of the
 * recording's activeflow and the recording's own. Resolves when it has been created.
 */
export const runOnEndFlow = async (
  services: Services,
  recording: Recording,
  parentVariables: Record<string, string>,
): Promise<void> => {
  const { id, customer_id, on_end_flow_id, activeflow_id } = recording;
  if (!isSet(on_end_flow_id)) return;
  const template = await services.directory.flow(customer_id, on_end_flow_id);
  if (!template)
    return services.log.warn({ recording_id: id, flow_id: on_end_flow_id }, 'the on-end flow of a recording is gone');
  const follower = new ActiveflowSession(services, {
    template,
    reference_type: '',
    reference_id: '',
    reference_activeflow_id: activeflow_id,
    parentVariables,
    callVariables: recordingVariables(recording),
  });
  await follower.create();
  void follower.run();
};

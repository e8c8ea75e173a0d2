import type { Recording } from '#contract/recording';
import type { Estate } from '../call/recovery.ts';
import type { Services } from '../services.ts';
import { failureOf, type RecordingFacts } from './ending.ts';
import { recordingsFolder } from './folder.ts';
import { keepRecording } from './keep.ts';
import { runOnEndFlow } from './on-end.ts';

/** Recordings whose media-app died: what was captured is kept and marked, and the on-end flow runs all the same. */
export const lostRecordings = (services: Services): Pick<Estate, 'keepRecording' | 'recordingEnded'> => ({
  keepRecording: recording => keep(services, recording),
  recordingEnded: recording => runOnEnd(services, recording),
});

const keep = async ({ settings, log }: Services, recording: Recording): Promise<RecordingFacts> => {
  try {
    const contents = await keepRecording(recordingsFolder(settings), recording, false);
    return { complete: contents.complete, actual_ms: Math.round((contents.files[0]?.duration ?? 0) * 1000) };
  } catch (error) {
    log.error({ recording_id: recording.id, error: String(error) }, 'nothing of a lost recording could be saved');
    return { complete: false, ...failureOf(error) };
  }
};

/** With the variables that the recording's activeflow had last. */
const runOnEnd = async (services: Services, recording: Recording): Promise<void> => {
  try {
    const activeflow = await services.store.read('activeflow', recording.activeflow_id);
    const variables = (activeflow?.internal['variables'] ?? {}) as Record<string, string>;
    await runOnEndFlow(services, recording, variables);
  } catch (error) {
    services.log.error({ recording_id: recording.id, error: String(error) }, 'a lost recording has no on-end flow');
  }
};

import type { LiveEventType } from '#contract/events';
import { newId } from '#contract/ids';
import type { Recording } from '#contract/recording';
import { toMillis } from '#contract/time';
import type { RecordingFault } from '#contract/timeline';
import type { Change } from '../call/state-store.ts';

/** What was captured may differ from the time that passed by this much, and by two in a hundred. */
const TOLERANCE_MS = 1000;
const TOLERANCE_SHARE = 0.02;

/** What became of the audio of a recording; kept with its record, shown to no client. */
export interface RecordingFacts extends Record<string, unknown> {
  /** What went wrong, with the paths of our disk. */
  failure?: string;
  /** The operating system's word for it, where it has one: `ENOSPC`. */
  code?: string;
  /** False when the media-app died under it. */
  complete?: boolean;
  /** The time it ran, and the length of what was captured. */
  expected_ms?: number;
  actual_ms?: number;
}

/** The facts of a failure. */
export const failureOf = (error: unknown): RecordingFacts => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return { failure: String(error), ...(code && { code }) };
};

/** The facts of a capture that was kept. `stoppedAt`: milliseconds since the epoch. */
export const lengthsOf = ({ tm_start }: Recording, stoppedAt: number, actual_ms: number): RecordingFacts => ({
  expected_ms: tm_start ? Math.max(0, Math.round(stoppedAt - toMillis(tm_start))) : 0,
  actual_ms,
});

/** What people must be told about a recording, or nothing when it is as it should be. */
export const faultOf = (recording: Recording, facts: RecordingFacts): RecordingFault | undefined => {
  const { failure, code, complete, expected_ms, actual_ms = 0 } = facts;
  const of = { recording_id: recording.id };
  const because = code ? ` (${code})` : '';
  if (failure && !recording.tm_start)
    return { ...of, fault: 'not_started', sentence: `The recording could not be started${because}.` };
  if (failure) return { ...of, fault: 'not_saved', sentence: `The recording could not be saved${because}.` };
  if (complete === false)
    return { ...of, fault: 'incomplete', sentence: 'The recording was cut off; its end may be missing.', actual_ms };
  if (expected_ms === undefined) return undefined;
  if (Math.abs(expected_ms - actual_ms) <= TOLERANCE_MS + expected_ms * TOLERANCE_SHARE) return undefined;
  const sentence = `The recording ran for ${expected_ms} ms, but ${actual_ms} ms of audio were captured.`;
  return { ...of, fault: 'duration', sentence, expected_ms, actual_ms };
};

/**
 * How the end of a recording is told: `recording_finished`, before it `recording_failed` when there is no audio, and a note
 * in the timeline of its call or conference about whatever is wrong.
 */
export const tellEnd = (
  recording: Recording,
  facts: RecordingFacts,
): Required<Pick<Change<'recording'>, 'events' | 'notes' | 'internal'>> => {
  const fault = faultOf(recording, facts);
  const events: LiveEventType<'recording'>[] = facts.failure ? ['recording_failed'] : [];
  return {
    events: [...events, 'recording_finished'],
    notes: fault ? [{ id: newId(), event_type: 'recording_fault', data: { ...fault } }] : [],
    internal: facts,
  };
};

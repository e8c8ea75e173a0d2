import type { Clock } from './action.ts';

/** The longest a flow may ask to wait in one action, in milliseconds: a day. */
const LONGEST_PAUSE_MS = 86_400_000;

/** Waits `ms`, or less when the signal aborts. Never rejects for an abort; callers that care look at the signal. */
export const pause = async (clock: Clock, ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await clock.sleep(Math.min(ms, LONGEST_PAUSE_MS), signal);
  } catch (error) {
    // An abort ends the wait early, which is what the caller asked for; everything else is the clock's own failure.
    if (!signal.aborted) throw error;
  }
};

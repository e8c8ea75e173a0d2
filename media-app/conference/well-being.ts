import type { CallStatus } from '#contract/machines/call';
import type { ConferenceStatus } from '#contract/machines/conference';
import type { ConferencecallStatus } from '#contract/machines/conferencecall';

/** A participant older than this is put out (voice-and-flows 13.4), in milliseconds. */
const OLDEST_MS = 24 * 3600 * 1000;

/** Checks a participant may fail in a row; with the next one it is put out. */
const FAILURES = 2;

/** What is looked at every few seconds. */
export interface Condition {
  status: ConferencecallStatus;
  call: CallStatus;
  conference: ConferenceStatus;
  age_ms: number;
  /** Whether the flow of a call that is joining will still come to the bridge. */
  comes: boolean;
}

/** Whether a participant is as it should be (voice-and-flows 13.4). */
export const isWell = ({ status, call, conference, age_ms, comes }: Condition): boolean =>
  call === 'progressing' && conference === 'progressing' && age_ms <= OLDEST_MS && (status !== 'joining' || comes);

/** Counts the checks that a participant failed one after the other. */
export class WellBeing {
  #failures = 0;

  /** Takes the result of one check. True when the participant is to be put out: it is the third failure in a row. */
  isOver(well: boolean): boolean {
    this.#failures = well ? 0 : this.#failures + 1;
    return this.#failures > FAILURES;
  }
}

import type { CallStatus } from './machines/call.ts';

export const HANGUP_BY = ['', 'remote', 'local'] as const;
export type HangupBy = (typeof HANGUP_BY)[number];

export const HANGUP_REASONS = [
  '',
  'normal',
  'failed',
  'busy',
  'cancel',
  'timeout',
  'noanswer',
  'dialout',
  'amd',
] as const;
export type HangupReason = (typeof HANGUP_REASONS)[number];

/** Why a leg was released, in the words of the tables of voice-and-flows 8.4 and 8.5. */
export type ReleaseCause =
  | 'normal_clearing'
  | 'user_busy'
  | 'no_answer'
  | 'call_rejected'
  | 'answered_elsewhere'
  | 'no_user_response'
  | 'unallocated'
  | 'number_changed'
  | 'invalid_number'
  | 'network_out_of_order'
  | 'not_implemented'
  | 'destination_out_of_order'
  | 'temporary_failure'
  | 'outgoing_barred'
  | 'dial_timeout'
  | 'max_duration'
  | 'amd'
  | 'failure';

export interface Verdict {
  hangup_by: HangupBy;
  hangup_reason: HangupReason;
}

/** Who ended the call, from its status just before the hang-up (voice-and-flows 8.3). */
const hangupBy = (before: CallStatus): HangupBy =>
  before === 'terminating' || before === 'canceling' ? 'local' : 'remote';

const outgoingUnanswered: Partial<Record<ReleaseCause, HangupReason>> = {
  no_answer: 'noanswer',
  call_rejected: 'noanswer',
  user_busy: 'busy',
  normal_clearing: 'normal',
  answered_elsewhere: 'normal',
  dial_timeout: 'dialout',
};
const incomingUnanswered: Partial<Record<ReleaseCause, HangupReason>> = { no_answer: 'noanswer', user_busy: 'busy' };

/** The reason stored with a hang-up (voice-and-flows 8.4 outgoing, 8.5 incoming). */
const hangupReason = (direction: 'incoming' | 'outgoing', before: CallStatus, cause: ReleaseCause): HangupReason => {
  if (before === 'progressing') return cause === 'max_duration' ? 'timeout' : 'normal';
  const unanswered = before === 'dialing' || before === 'ringing';
  if (direction === 'incoming') return unanswered ? (incomingUnanswered[cause] ?? 'normal') : 'normal';
  if (unanswered) return outgoingUnanswered[cause] ?? 'failed';
  if (before === 'canceling') return 'cancel';
  return cause === 'amd' ? 'amd' : 'normal';
};

/** How a call ended, as a value. */
export const verdict = (direction: 'incoming' | 'outgoing', before: CallStatus, cause: ReleaseCause): Verdict => ({
  hangup_by: hangupBy(before),
  hangup_reason: hangupReason(direction, before, cause),
});

const SIP_CAUSES: Record<number, ReleaseCause> = {
  403: 'call_rejected',
  404: 'unallocated',
  408: 'no_user_response',
  410: 'number_changed',
  480: 'no_answer',
  484: 'invalid_number',
  486: 'user_busy',
  487: 'normal_clearing',
  500: 'network_out_of_order',
  501: 'not_implemented',
  502: 'destination_out_of_order',
  503: 'temporary_failure',
  600: 'user_busy',
  603: 'call_rejected',
};

/** The release cause a final SIP response stands for (accounts-and-plumbing 23.2). */
export const causeOfSipStatus = (status: number): ReleaseCause => SIP_CAUSES[status] ?? 'failure';

/** Causes that another carrier would not change (accounts-and-plumbing 23.2). */
const DECIDED: readonly ReleaseCause[] = [
  'normal_clearing',
  'user_busy',
  'no_answer',
  'call_rejected',
  'answered_elsewhere',
  'max_duration',
  'amd',
];

/**
 * Whether a call that failed may be tried by another route (accounts-and-plumbing 23.2). Nobody is dialled again who
 * declined for everywhere (6xx, RFC 3261 section 21.6).
 * @param status the far end's answer; 0 for none
 */
export const deservesAnotherRoute = (cause: ReleaseCause, status: number): boolean =>
  status < 600 && !DECIDED.includes(cause);

const REQUESTED: Partial<Record<HangupReason, ReleaseCause>> = {
  busy: 'user_busy',
  failed: 'no_user_response',
  noanswer: 'no_answer',
  dialout: 'no_answer',
  amd: 'amd',
};

/** The release cause a requested hang-up reason selects (voice-and-flows 8.6). */
export const causeOfReason = (reason: string): ReleaseCause => REQUESTED[reason as HangupReason] ?? 'normal_clearing';

const REFUSALS: Partial<Record<ReleaseCause, number>> = {
  user_busy: 486,
  call_rejected: 603,
  outgoing_barred: 403,
  unallocated: 404,
  no_user_response: 408,
  number_changed: 410,
  invalid_number: 484,
  network_out_of_order: 500,
  not_implemented: 501,
  destination_out_of_order: 502,
  temporary_failure: 503,
  failure: 500,
};

/** ITU-T Q.850 values; what the telephone network has no word for (AMD, the timers) is normal clearing or recovery. */
const Q850: Record<ReleaseCause, number> = {
  unallocated: 1,
  normal_clearing: 16,
  amd: 16,
  user_busy: 17,
  no_user_response: 18,
  no_answer: 19,
  call_rejected: 21,
  number_changed: 22,
  destination_out_of_order: 27,
  invalid_number: 28,
  network_out_of_order: 38,
  answered_elsewhere: 26,
  failure: 41,
  outgoing_barred: 52,
  temporary_failure: 41,
  not_implemented: 79,
  dial_timeout: 102,
  max_duration: 102,
};

/** The Reason header that tells the network why a leg is released (RFC 3326 section 3.1). */
export const reasonHeader = (cause: ReleaseCause): string => `Q.850;cause=${Q850[cause]};text="${cause}"`;

/** The final response that refuses an unanswered incoming call with a cause. */
export const sipStatusOfCause = (cause: ReleaseCause): number => REFUSALS[cause] ?? 480;

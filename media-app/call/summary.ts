import type { Call } from '#contract/call';
import type { ReleaseCause, Verdict } from '#contract/hangup';
import { newId } from '#contract/ids';
import type { CallStatus } from '#contract/machines/call';
import { timestamp, toMillis } from '#contract/time';
import type { CallSummary, TimelineNote } from '#contract/timeline';

/** What is known of an end at the moment it is written. */
export interface Ending {
  call: Call;
  /** Status just before the end. */
  before: CallStatus;
  cause: CallSummary['cause'];
  verdict: Verdict;
  sip_status: number;
}

/** A duration for people: `0.8 s`, `12 s`, `3 min 5 s`. */
const spoken = (ms: number): string => {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

const durationOf = ({ tm_progressing }: Call): number =>
  tm_progressing ? Math.max(0, Math.round(toMillis(timestamp()) - toMillis(tm_progressing))) : 0;

/** The party at the other end of this leg: whom we called, or who called us. */
const partyOf = ({ direction, source, destination }: Call): string => {
  const { type, target } = direction === 'incoming' ? source : destination;
  return type === 'tel' || type === 'sip' ? target : `${type} ${target}`;
};

/** Ends of an answered call that nobody simply hung up. */
const BROKEN: Partial<Record<Ending['cause'], (party: string, lasted: string) => string>> = {
  max_duration: (party, lasted) =>
    `The call with ${party} reached the longest time allowed and was ended after ${lasted}.`,
  failure: (party, lasted) => `The connection with ${party} broke after ${lasted}.`,
  amd: (party, lasted) => `An answering machine answered for ${party}; the platform hung up after ${lasted}.`,
};

const answered = (party: string, lasted: string, { before, cause }: Ending): string => {
  const broken = BROKEN[cause]?.(party, lasted);
  if (broken) return broken;
  return before === 'terminating'
    ? `The platform hung up on ${party} after ${lasted}.`
    : `${party} hung up after ${lasted}.`;
};

/** Why an outgoing call was not answered. */
const UNANSWERED: Record<ReleaseCause, (party: string) => string> = {
  user_busy: party => `${party} was busy`,
  call_rejected: party => `${party} declined the call`,
  no_answer: party => `${party} did not answer`,
  dial_timeout: party => `${party} did not answer before the time to answer was over`,
  no_user_response: party => `The phone of ${party} did not respond`,
  unallocated: party => `${party} does not exist where the call was sent`,
  number_changed: party => `${party} has another number now`,
  invalid_number: party => `${party} is no complete number where the call was sent`,
  network_out_of_order: party => `The network that the call to ${party} was sent to is out of order`,
  not_implemented: party => `The network cannot do what the call to ${party} needs`,
  destination_out_of_order: party => `The line of ${party} is out of order`,
  temporary_failure: party => `The network could not take the call to ${party} at this moment`,
  outgoing_barred: party => `The account may not call ${party}`,
  normal_clearing: party => `${party} ended the call before answering it`,
  answered_elsewhere: party => `The call to ${party} was answered elsewhere`,
  max_duration: party => `The call to ${party} reached the longest time allowed before it was answered`,
  amd: party => `An answering machine answered for ${party}`,
  failure: party => `The call to ${party} could not be set up`,
};

const CANCELED: Partial<Record<Ending['cause'], (party: string) => string>> = {
  answered_elsewhere: party => `The call to ${party} was answered elsewhere.`,
};

const unanswered = (party: string, { call, before, cause, sip_status }: Ending): string => {
  if (call.direction === 'incoming')
    return before === 'terminating'
      ? `The platform refused the call from ${party}.`
      : `${party} gave up before the call was answered.`;
  if (before === 'canceling')
    return CANCELED[cause]?.(party) ?? `The call to ${party} was canceled before it was answered.`;
  const why = cause === 'node_died' ? UNANSWERED.failure : UNANSWERED[cause];
  return `${why(party)}${sip_status ? ` (SIP ${sip_status})` : ''}.`;
};

const sentenceOf = (ending: Ending, duration: number): string => {
  const party = partyOf(ending.call);
  if (ending.cause === 'node_died')
    return `The media process that held the call with ${party} died; the call was ended.`;
  return ending.call.tm_progressing ? answered(party, spoken(duration), ending) : unanswered(party, ending);
};

/** Why a call ended, as the entry behind its last event. */
export const callSummary = (ending: Ending): Omit<TimelineNote, 'timestamp'> => {
  const duration_ms = durationOf(ending.call);
  const summary: CallSummary = {
    call_id: ending.call.id,
    sentence: sentenceOf(ending, duration_ms),
    status_before: ending.before,
    cause: ending.cause,
    sip_status: ending.sip_status,
    ...ending.verdict,
    duration_ms,
  };
  return { id: newId(), event_type: 'call_summary', data: { ...summary } };
};

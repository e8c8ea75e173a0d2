import type { Address } from './address.ts';
import type { ReleaseCause, Verdict } from './hangup.ts';
import type { CallStatus } from './machines/call.ts';
import type { Timestamp } from './time.ts';

/** Entries that only timelines show; no client is told of them (accounts-and-plumbing 28.3). */
export const NOTE_TYPES = [
  'activeflow_step',
  'call_summary',
  'recording_fault',
  'outbound_whitelist_rejected',
  'destination_rejected',
] as const;
export type NoteType = (typeof NOTE_TYPES)[number];

/** An entry of a timeline that is no event: it travels with the change it belongs to. */
export interface TimelineNote {
  id: string;
  event_type: NoteType;
  timestamp: Timestamp;
  data: Record<string, unknown>;
}

/** One SIP message of a call's leg, secrets masked. Addresses are empty and ports 0 where nobody knows them. */
export interface SipMessageRecord {
  id: string;
  timestamp: Timestamp;
  direction: 'received' | 'sent';
  /** `udp`, `tcp`, `tls`, `ws` or `wss`. */
  transport: string;
  /** The method of a request, the status code of a response. */
  method: string;
  src_ip: string;
  src_port: number;
  dst_ip: string;
  dst_port: number;
  raw: string;
}

/** What a call sounded like, as its media server counted it, once it is over. */
export interface MediaFacts {
  codec: string;
  /** When the far end's first audio packet came; null when none came or the media server does not say. */
  first_audio: Timestamp | null;
  /** Mean opinion score of what came in, 1 to 4.5. */
  mos: number;
  /** Of what came in, milliseconds. */
  jitter_ms: number;
  packet_loss_pct: number;
  packets_received: number;
  packets_sent: number;
  bytes_received: number;
  bytes_sent: number;
  /** Packets that were no audio of the call. */
  packets_skipped: number;
  rtcp_packets: number;
  rtcp_bytes: number;
}

/**
 * An entry of `keys.stream` that changes no record: what was seen on a call's leg. The projector writes it like a
 * `LiveEntry`, in order and once; it causes no event.
 */
export interface CallTrace {
  kind: 'call_trace';
  call_id: string;
  customer_id: string;
  sip_messages: SipMessageRecord[];
  media: { timestamp: Timestamp; facts: MediaFacts } | null;
}

/** What is wrong with the audio of a recording, as facts and as one sentence. */
export interface RecordingFault {
  recording_id: string;
  fault: 'not_started' | 'not_saved' | 'incomplete' | 'duration';
  sentence: string;
  /** The time it ran. */
  expected_ms?: number;
  /** The length of what was captured. */
  actual_ms?: number;
}

/** Why a call did not dial a destination it asked for: what did not match, and what would have. */
export interface DestinationRefusal {
  customer_id: string;
  call_id: string;
  destination: Address;
  /** ISO 3166 alpha-2, lower case; empty where the number does not tell or it is no number. */
  destination_country: string;
  /** As the API would answer. */
  reason: string;
  sentence: string;
}

/** Why a call ended, as facts and as one sentence. */
export interface CallSummary extends Verdict {
  call_id: string;
  sentence: string;
  status_before: CallStatus;
  cause: ReleaseCause | 'node_died';
  /** The far end's final answer to our INVITE where it refused it, else 0. */
  sip_status: number;
  /** From the answer to the end, milliseconds; 0 when nobody answered. */
  duration_ms: number;
}

import type { Activeflow } from './activeflow.ts';
import type { Call } from './call.ts';
import type { Conference } from './conference.ts';
import type { Conferencecall } from './conferencecall.ts';
import type { Groupcall } from './groupcall.ts';
import type { LiveKind } from './keys.ts';
import type { Recording } from './recording.ts';
import type { Timestamp } from './time.ts';
import type { TimelineNote } from './timeline.ts';
import type { LiveTransfer } from './transfer.ts';

/** Events of live resources, delivered to webhook and WebSocket (accounts-and-plumbing 28.1). */
export const LIVE_EVENTS = {
  call: [
    'call_created',
    'call_dialing',
    'call_ringing',
    'call_progressing',
    'call_canceling',
    'call_terminating',
    'call_hangup',
    'call_updated',
    'call_deleted',
  ],
  groupcall: ['groupcall_created', 'groupcall_progressing', 'groupcall_hangup', 'groupcall_deleted'],
  activeflow: ['activeflow_created', 'activeflow_updated', 'activeflow_deleted'],
  conference: ['conference_created', 'conference_updated', 'conference_deleted'],
  conferencecall: [
    'conferencecall_joining',
    'conferencecall_joined',
    'conferencecall_leaving',
    'conferencecall_leaved',
  ],
  /** `recording_failed` is ours: of audio that is lost a client must hear without having to look for it. */
  recording: ['recording_started', 'recording_failed', 'recording_finished'],
  /** Nobody is told of transfers; their calls tell (voice-and-flows 19). */
  transfer: [],
} as const satisfies Record<LiveKind, readonly string[]>;

/** Events of stored resources, written by control-api in the transaction of the row (accounts-and-plumbing 28.2). */
export const STORED_EVENTS = [
  'extension_created',
  'extension_updated',
  'extension_deleted',
  'flow_created',
  'flow_updated',
  'flow_deleted',
  'number_created',
  'number_updated',
  'number_deleted',
  'trunk_created',
  'trunk_updated',
  'trunk_deleted',
  'customer_created',
  'customer_updated',
  'customer_deleted',
  'customer_frozen',
  'customer_recovered',
  'customer_identity_verification_updated',
  'agent_created',
  'agent_updated',
  'agent_status_updated',
  'agent_deleted',
  'tag_created',
  'tag_updated',
  'tag_deleted',
  'contact_created',
  'contact_updated',
  'contact_deleted',
  'queue_created',
  'queue_updated',
  'queue_deleted',
  'outdial_created',
  'outdial_updated',
  'outdial_deleted',
  'campaign_created',
  'campaign_updated',
  'campaign_deleted',
  'account_created',
  'account_updated',
  'account_deleted',
  'ai_created',
  'ai_updated',
  'ai_deleted',
  'team_created',
  'team_updated',
  'team_deleted',
  'file_created',
  'file_deleted',
] as const;

/** Events of what media-app finds out and no row keeps: phones that come and go, banned sources, callers that are turned away. */
export const NOTICE_EVENTS = [
  'extension_registered',
  'extension_unregistered',
  'ban_created',
  'ban_deleted',
  'invite_refused',
] as const;
export type NoticeEventType = (typeof NOTICE_EVENTS)[number];
export const NOTICE_RESOURCES = ['extension', 'ban', 'invite'] as const;

/** What `invite_refused` tells of an INVITE that became no call (accounts-and-plumbing 20.3). */
export interface RefusedInvite {
  id: string;
  customer_id: string;
  /** As the caller wrote it; nothing of it is proven. */
  from: string;
  /** The request URI. */
  to: string;
  source_address: string;
  source_port: number;
  /** The Call-ID header, to find it in the caller's own log. */
  sip_call_id: string;
  sip_status: number;
  /** What did not match, and what would have. */
  sentence: string;
  tm_create: Timestamp;
}

/** An entry of `keys.stream` that only causes an event. */
export interface Notice {
  kind: 'notice';
  /** The event's, final. */
  id: string;
  customer_id: string;
  event_type: NoticeEventType;
  /** The third part of the topic. */
  resource: (typeof NOTICE_RESOURCES)[number];
  resource_id: string;
  timestamp: Timestamp;
  data: Record<string, unknown>;
  /** The request that caused it, or empty. */
  request_id: string;
}

export type LiveEventType<K extends LiveKind = LiveKind> = (typeof LIVE_EVENTS)[K][number];
export type StoredEventType = (typeof STORED_EVENTS)[number];
export type EventType = LiveEventType | StoredEventType | NoticeEventType;

/** What clients receive over WebSocket and webhook, plus `id` and `sequence` to recognise and to resume. */
export interface EventMessage {
  /** Stable: the same event is never delivered under another id. */
  id: string;
  /** Counts up by one per customer, without gaps. */
  sequence: number;
  event_type: EventType;
  /** RFC 3339 with microseconds. */
  timestamp: string;
  /** `customer_id:<customer_id>:<resource>:<resource_id>`. */
  topic: string;
  /** Of the request that caused it, as in the answer's header and our log; empty when none did. */
  request_id: string;
  data: Record<string, unknown>;
}

export interface LiveResources {
  call: Call;
  groupcall: Groupcall;
  activeflow: Activeflow;
  conference: Conference;
  conferencecall: Conferencecall;
  recording: Recording;
  transfer: LiveTransfer;
}

/** The JSON under `keys.live(kind, id)`: the public record, who owns it and how often it changed. */
export interface LiveRecord<K extends LiveKind = LiveKind> {
  kind: K;
  /** Starts at 1; every commit adds one. */
  version: number;
  /** Node id of the media-app whose mailbox holds it. */
  owner: string;
  /** True when the machine of the kind has no way out of the status. */
  final: boolean;
  /** Ids of its latest commits, by which one that is sent again is recognised. */
  commits?: string[];
  data: LiveResources[K];
  /** Internal facts that no client sees (variables, release cause …). */
  internal: Record<string, unknown>;
}

/** One entry of `keys.stream`, under the field `entry`: a committed change of a live record and the events it causes. */
export interface LiveEntry<K extends LiveKind = LiveKind> {
  kind: K;
  id: string;
  version: number;
  customer_id: string;
  /** The row the projector writes where its version is older. */
  data: LiveResources[K];
  /** In order; empty when a change is told to nobody. Ids are final. */
  events: { id: string; event_type: LiveEventType<K>; timestamp: Timestamp }[];
  /** Entries for timelines only. */
  notes?: TimelineNote[];
  /** The request that caused it, or empty. */
  request_id: string;
}

/** The topic an event is published on (accounts-and-plumbing 26.3). */
export const topicOf = (customerId: string, resource: string, resourceId: string): string =>
  `customer_id:${customerId}:${resource}:${resourceId}`;

/** JSON under `keys.node(id)`. */
export interface NodeReport {
  node_id: string;
  started: Timestamp;
  sip_servers: { address: string; connected: boolean }[];
  media_servers: { address: string; connected: boolean }[];
  calls: number;
}

import { z } from 'zod';
import { PlatformError, type Reason } from '#contract/errors';
import { isId, isSet } from '#contract/ids';
import { toRfc3339 } from '#contract/time';
import type { MediaFacts, SipMessageRecord } from '#contract/timeline';
import { pcapOf } from '../events/pcap.ts';
import { familyOf, readMediaFacts, readSipMessages, readTimeline, type Scope } from '../events/timeline.ts';
import { because } from '../http/bind.ts';
import { pageOf, pageQueryUpTo } from '../http/pagination.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, Reply, type Route, type RouteRequest } from '../http/route.ts';

/** Timelines are longer than other lists (accounts-and-plumbing 1.5). */
const MOST_ENTRIES = 1000;
const timelineQuery = pageQueryUpTo(MOST_ENTRIES);

const entrySchema = z
  .object({
    timestamp: z.string().describe('UTC, RFC 3339 with milliseconds.'),
    event_type: z
      .string()
      .describe(
        'The event, or one that only timelines show: `call_summary`, `destination_rejected`, `activeflow_step` …',
      ),
    data: z.record(z.string(), z.unknown()).describe('The resource at that moment.'),
  })
  .meta({ id: 'TimelineEvent', description: 'One entry of the story of a call, conference, flow or activeflow.' });

const RESOURCE_TYPES = ['calls', 'conferences', 'flows', 'activeflows'] as const;
type ResourceType = (typeof RESOURCE_TYPES)[number];
const isResourceType = (text: string): text is ResourceType => (RESOURCE_TYPES as readonly string[]).includes(text);

const MISSING: Record<ResourceType, { resource: string; reason: Reason }> = {
  calls: { resource: 'call', reason: 'CALL_NOT_FOUND' },
  conferences: { resource: 'conference', reason: 'CONFERENCE_NOT_FOUND' },
  flows: { resource: 'flow', reason: 'FLOW_NOT_FOUND' },
  activeflows: { resource: 'activeflow', reason: 'ACTIVEFLOW_NOT_FOUND' },
};

/** A resource that a timeline can be asked of: whose it is, and the activeflow it belongs to. */
interface Owned {
  customer_id: string;
  activeflow_id?: string | undefined;
  /** What was recorded of it is part of its story. */
  recording_ids?: string[] | undefined;
}

const findLive = async (
  { context, identity }: RouteRequest,
  kind: 'call' | 'conference' | 'activeflow',
  id: string,
): Promise<Owned | undefined> => {
  const found = await context.live.find(kind, isSuperAdmin(identity) ? undefined : identity.customer_id, id);
  return found?.data;
};

/** Deleted flows and calls keep their history. */
const findFlow = async ({ context, identity }: RouteRequest, id: string): Promise<Owned | undefined> => {
  const row = await context.db('flows').where({ id }).first<Owned | undefined>('customer_id');
  return row && (isSuperAdmin(identity) || row.customer_id === identity.customer_id) ? row : undefined;
};

const FIND: Record<ResourceType, (request: RouteRequest, id: string) => Promise<Owned | undefined>> = {
  calls: (request, id) => findLive(request, 'call', id),
  conferences: (request, id) => findLive(request, 'conference', id),
  flows: findFlow,
  activeflows: (request, id) => findLive(request, 'activeflow', id),
};

/** The resource whose story is asked for, of the customer who asks. Rejects its not-found reason. */
const load = async (request: RouteRequest, type: ResourceType, id: string): Promise<Owned> => {
  const found = await FIND[type](request, id);
  if (found) return found;
  const { resource, reason } = MISSING[type];
  throw new PlatformError(reason, `There is no such ${resource}.`);
};

const events = defineRoute({
  method: 'get',
  path: '/timelines/{resource_type}/{resource_id}/events',
  operation_id: 'list_timeline_events',
  summary: 'The story of one call, conference, flow or activeflow, newest first',
  tag: 'Timeline',
  permission: 'manager',
  params: z.object({
    resource_type: z
      .string()
      .refine(isResourceType, because('INVALID_RESOURCE_TYPE', `must be one of ${RESOURCE_TYPES.join(', ')}`))
      .meta({ enum: [...RESOURCE_TYPES] })
      .describe('What the story is of.'),
    resource_id: z.uuid().describe('The id of the record.'),
  }),
  query: timelineQuery,
  response: pageOf(entrySchema),
  reasons: ['INVALID_RESOURCE_TYPE', ...Object.values(MISSING).map(({ reason }) => reason)],
  async handle(request) {
    const { resource_type, resource_id } = request.params;
    const { customer_id, recording_ids = [] } = await load(request, resource_type, resource_id);
    const activeflow_ids = resource_type === 'activeflows' ? [resource_id] : [];
    const scope = { customer_id, resource_ids: [resource_id, ...recording_ids], activeflow_ids, everything: false };
    return readTimeline(request.context.db, scope, request.query);
  },
});

/** The one id that was given. Rejects INVALID_ARGUMENT for both or none. */
const chosen = (query: { activeflow_id?: string | undefined; call_id?: string | undefined }) => {
  const { activeflow_id = '', call_id = '' } = query;
  if ((activeflow_id === '') === (call_id === ''))
    throw new PlatformError('INVALID_ARGUMENT', 'Give exactly one of activeflow_id and call_id.');
  if (call_id !== '') {
    if (!isId(call_id)) throw new PlatformError('INVALID_CALL_ID', 'call_id is not a UUID.');
    return { type: 'calls', id: call_id.toLowerCase() } as const;
  }
  if (!isId(activeflow_id)) throw new PlatformError('INVALID_ACTIVEFLOW_ID', 'activeflow_id is not a UUID.');
  return { type: 'activeflows', id: activeflow_id.toLowerCase() } as const;
};

/** The whole activeflow of a call or by its own id: every call, the calls they dialled, their groupcalls. */
const wholeStory = async (request: RouteRequest, type: 'calls' | 'activeflows', id: string): Promise<Scope> => {
  const { customer_id, activeflow_id } = await load(request, type, id);
  const ofCall = isSet(activeflow_id) ? [activeflow_id] : [];
  const activeflow_ids = type === 'activeflows' ? [id] : ofCall;
  const call_ids = type === 'calls' ? [id] : [];
  const family = await familyOf(request.context.db, { customer_id, call_ids, activeflow_ids });
  return { customer_id, resource_ids: [...call_ids, ...family], activeflow_ids, everything: true };
};

const aggregated = defineRoute({
  method: 'get',
  path: '/aggregated-events',
  operation_id: 'list_aggregated_events',
  summary: 'The whole story of an activeflow across its resources, with SIP, media, flow steps and webhook attempts',
  tag: 'Timeline',
  permission: 'manager',
  query: timelineQuery.extend({
    activeflow_id: z.string().optional().describe('The activeflow; give this or call_id.'),
    call_id: z.string().optional().describe('A call of the activeflow; give this or activeflow_id.'),
  }),
  response: pageOf(entrySchema),
  reasons: ['INVALID_ARGUMENT', 'INVALID_CALL_ID', 'INVALID_ACTIVEFLOW_ID', 'CALL_NOT_FOUND', 'ACTIVEFLOW_NOT_FOUND'],
  async handle(request) {
    const { type, id } = chosen(request.query);
    return readTimeline(request.context.db, await wholeStory(request, type, id), request.query);
  },
});

const sipMessageSchema = z
  .object({
    timestamp: z.string().describe('UTC, RFC 3339 with microseconds.'),
    method: z.string().describe('The method of a request, the status code of a response.'),
    src_ip: z.string().describe('Empty when nobody knows it.'),
    src_port: z.int(),
    dst_ip: z.string(),
    dst_port: z.int(),
    raw: z.string().describe('The message, credentials and media keys masked.'),
  })
  .meta({ id: 'SipMessage', description: 'One SIP message of a call.' });

const rtcpStatsSchema = z
  .object({
    mos: z.number().describe('Mean opinion score of what came in, 1 to 4.5.'),
    jitter: z.int().describe('Milliseconds.'),
    packet_loss_pct: z.number(),
    rtt: z.int().describe('Milliseconds; 0 when it was not measured.'),
    rtp_bytes: z.int(),
    rtp_packets: z.int(),
    rtp_errors: z.int(),
    rtcp_bytes: z.int(),
    rtcp_packets: z.int(),
    rtcp_errors: z.int(),
  })
  .meta({ id: 'RtcpStats', description: 'What the media server counted of the audio that came in.' });

const shownMessage = ({ timestamp, method, src_ip, src_port, dst_ip, dst_port, raw }: SipMessageRecord) => ({
  timestamp: toRfc3339(timestamp),
  ...{ method, src_ip, src_port, dst_ip, dst_port, raw },
});

const shownStats = (facts: MediaFacts): z.output<typeof rtcpStatsSchema> => ({
  mos: facts.mos,
  jitter: Math.round(facts.jitter_ms),
  packet_loss_pct: facts.packet_loss_pct,
  rtt: 0,
  rtp_bytes: facts.bytes_received,
  rtp_packets: facts.packets_received,
  rtp_errors: facts.packets_skipped,
  rtcp_bytes: facts.rtcp_bytes,
  rtcp_packets: facts.rtcp_packets,
  rtcp_errors: 0,
});

const callParams = z.object({ call_id: z.uuid().describe('The id of the call.') });

const sipAnalysis = defineRoute({
  method: 'get',
  path: '/timelines/calls/{call_id}/sip-analysis',
  operation_id: 'get_sip_analysis',
  summary: 'Every SIP message of a call, oldest first, and what was counted of its audio',
  tag: 'Timeline',
  permission: 'manager',
  params: callParams,
  response: z
    .object({
      sip_messages: z.array(sipMessageSchema),
      rtcp_stats: rtcpStatsSchema.nullable().describe('Null until the call is over, and when it had no audio.'),
    })
    .meta({ id: 'SipAnalysis' }),
  reasons: ['CALL_NOT_FOUND'],
  async handle(request) {
    const { db } = request.context;
    const { call_id } = request.params;
    const { customer_id } = await load(request, 'calls', call_id);
    const [messages, facts] = await Promise.all([
      readSipMessages(db, customer_id, call_id),
      readMediaFacts(db, customer_id, call_id),
    ]);
    return { sip_messages: messages.map(shownMessage), rtcp_stats: facts ? shownStats(facts) : null };
  },
});

const PCAP = 'application/vnd.tcpdump.pcap';

const pcap = defineRoute({
  method: 'get',
  path: '/timelines/calls/{call_id}/pcap',
  operation_id: 'get_call_pcap',
  summary: 'The SIP messages of a call as a capture file for Wireshark',
  tag: 'Timeline',
  permission: 'manager',
  params: callParams,
  response: z.instanceof(Buffer),
  media_type: PCAP,
  reasons: ['CALL_NOT_FOUND'],
  async handle(request) {
    const { call_id } = request.params;
    const { customer_id } = await load(request, 'calls', call_id);
    const file = pcapOf(await readSipMessages(request.context.db, customer_id, call_id));
    return new Reply(200, file, {
      'Content-Type': PCAP,
      'Content-Disposition': `attachment; filename="call-${call_id}.pcap"`,
    });
  },
});

export const timelineRoutes: Route[] = [events, aggregated, sipAnalysis, pcap];

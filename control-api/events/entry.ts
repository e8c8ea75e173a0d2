import { z } from 'zod';
import { LIVE_EVENTS, NOTICE_EVENTS, NOTICE_RESOURCES, type LiveEventType } from '#contract/events';
import { isSet } from '#contract/ids';
import { LIVE_KINDS } from '#contract/keys';
import { NEVER, parseTimestamp, toRfc3339 } from '#contract/time';
import type { NewEvent } from './log.ts';
import { noteSchema, traceSchema, type OwnedNote, type Trace } from './trace.ts';

const moment = z.string().refine(text => parseTimestamp(text) !== undefined, 'is no timestamp');

/** What the projector needs of a `LiveEntry`; the record itself is media-app's word and passes as it is. */
const entrySchema = z.object({
  kind: z.enum(LIVE_KINDS),
  id: z.uuid(),
  version: z
    .int()
    .min(1)
    .max(2 ** 31 - 1),
  customer_id: z.uuid(),
  data: z.looseObject({
    tm_create: moment,
    tm_delete: z.string().nullish(),
    activeflow_id: z.uuid().optional(),
    reference_id: z.string().optional(),
  }),
  events: z.array(
    z.object({
      id: z.uuid(),
      event_type: z.enum(Object.values(LIVE_EVENTS).flat() as [LiveEventType, ...LiveEventType[]]),
      timestamp: moment,
    }),
  ),
  notes: z.array(noteSchema).optional(),
  request_id: z.string(),
});

export type Entry = z.infer<typeof entrySchema>;

/** What causes an event and nothing else (contract, Notice). */
const noticeSchema = z.object({
  kind: z.literal('notice'),
  id: z.uuid(),
  customer_id: z.uuid(),
  event_type: z.enum(NOTICE_EVENTS),
  resource: z.enum(NOTICE_RESOURCES),
  resource_id: z.uuid(),
  timestamp: moment,
  data: z.record(z.string(), z.unknown()),
  request_id: z.string().default(''), // nodes of before did not say it
});
export type NoticeEntry = z.infer<typeof noticeSchema>;

/** An entry of the stream as read: parsed, or refused with the reason. */
export type Read = { stream_id: string; text: string } & (
  { entry: Entry } | { trace: Trace } | { notice: NoticeEntry } | { reason: string }
);

const parse = (text: string): { entry: Entry } | { trace: Trace } | { notice: NoticeEntry } => {
  const value = JSON.parse(text) as { kind?: unknown } | null;
  if (value?.kind === 'notice') return { notice: noticeSchema.parse(value) };
  return value?.kind === 'call_trace' ? { trace: traceSchema.parse(value) } : { entry: entrySchema.parse(value) };
};

/** Reads one entry of the stream; `fields` is the flat list of names and values that Redis answers. */
export const readEntry = (streamId: string, fields: string[]): Read => {
  const text = fields[fields.indexOf('entry') + 1] ?? '';
  try {
    return { stream_id: streamId, text, ...parse(text) };
  } catch (error) {
    // A poison entry is kept apart and reported: it must not hold up what comes after it.
    return { stream_id: streamId, text, reason: error instanceof Error ? error.message : String(error) };
  }
};

/** The row of a live table. */
export const rowOf = (entry: Entry): Record<string, unknown> => {
  const { id, customer_id, version, data } = entry;
  const deleted = data.tm_delete && data.tm_delete !== NEVER ? parseTimestamp(data.tm_delete) : undefined;
  return { id, customer_id, version, data, tm_create: toRfc3339(data.tm_create), tm_delete: deleted ?? null };
};

const activeflowOf = (entry: Entry): string | undefined =>
  entry.kind === 'activeflow' ? entry.id : entry.data.activeflow_id;

/** A recording has no timeline of its own: what is noted of it stands in that of its call or conference. */
const subjectOf = ({ kind, id, data }: Entry): string => (kind === 'recording' && data.reference_id) || id;

/** The timeline entries that came with a change, and whose they are. */
export const notesOf = (entry: Entry): OwnedNote[] => {
  const activeflow_id = activeflowOf(entry);
  const owner = { customer_id: entry.customer_id, resource_id: subjectOf(entry) };
  return (entry.notes ?? []).map(note => ({
    ...note,
    ...owner,
    activeflow_id: isSet(activeflow_id) ? activeflow_id : null,
  }));
};

/** The events an entry causes, in order. */
export const eventsOf = (entry: Entry): NewEvent[] => {
  const activeflow_id = activeflowOf(entry);
  return entry.events.map(event => ({
    ...event,
    customer_id: entry.customer_id,
    resource: entry.kind,
    resource_id: entry.id,
    data: entry.data,
    request_id: entry.request_id,
    activeflow_id,
  }));
};

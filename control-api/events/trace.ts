import { z } from 'zod';
import { NOTE_TYPES } from '#contract/timeline';
import { parseTimestamp, toRfc3339 } from '#contract/time';
import type { RunStatement, Statement } from './statement.ts';

const moment = z.string().refine(text => parseTimestamp(text) !== undefined, 'is no timestamp');
const port = z.int().min(0).max(65_535);

/** A timeline entry that travels with a change (contract, TimelineNote). */
export const noteSchema = z.object({
  id: z.uuid(),
  event_type: z.enum(NOTE_TYPES),
  timestamp: moment,
  data: z.record(z.string(), z.unknown()),
});

const sipMessageSchema = z.object({
  id: z.uuid(),
  timestamp: moment,
  direction: z.enum(['received', 'sent']),
  transport: z.string(),
  method: z.string(),
  src_ip: z.string(),
  src_port: port,
  dst_ip: z.string(),
  dst_port: port,
  raw: z.string(),
});

/** What was seen on a call's leg (contract, CallTrace). */
export const traceSchema = z.object({
  kind: z.literal('call_trace'),
  call_id: z.uuid(),
  customer_id: z.uuid(),
  sip_messages: z.array(sipMessageSchema),
  media: z.object({ timestamp: moment, facts: z.record(z.string(), z.unknown()) }).nullable(),
});
export type Trace = z.infer<typeof traceSchema>;

/** A note and whose it is. */
export interface OwnedNote extends z.infer<typeof noteSchema> {
  customer_id: string;
  resource_id: string;
  activeflow_id: string | null;
}

const NOTES = {
  name: 'write_notes',
  text: `insert into timeline_notes (id, customer_id, event_type, resource_id, activeflow_id, timestamp, data)
  select * from jsonb_to_recordset($1::jsonb) as n (id uuid, customer_id uuid, event_type text, resource_id uuid,
    activeflow_id uuid, timestamp timestamptz, data jsonb) on conflict do nothing`,
};

const MESSAGES = {
  name: 'write_messages',
  text: `insert into sip_messages (id, customer_id, call_id, timestamp, direction, transport, method, src_ip,
    src_port, dst_ip, dst_port, raw)
  select * from jsonb_to_recordset($1::jsonb) as m (id uuid, customer_id uuid, call_id uuid, timestamp timestamptz,
    direction text, transport text, method text, src_ip text, src_port int, dst_ip text, dst_port int, raw text)
  on conflict do nothing`,
};

const MEDIA = {
  name: 'write_media',
  text: `insert into call_media (call_id, customer_id, timestamp, data)
  select * from jsonb_to_recordset($1::jsonb) as m (call_id uuid, customer_id uuid, timestamp timestamptz, data jsonb)
  on conflict do nothing`,
};

/** Writes what timelines tell beside events. What is there already stays: an entry that is read twice counts once. */
export const writeTimeline = async (run: RunStatement, notes: OwnedNote[], traces: Trace[]): Promise<void> => {
  const insert = async (statement: Statement, rows: { timestamp: string }[]): Promise<void> => {
    const timed = rows.map(row => ({ ...row, timestamp: toRfc3339(row.timestamp) }));
    if (rows.length > 0) await run(statement, JSON.stringify(timed));
  };
  await insert(NOTES, notes);
  await insert(
    MESSAGES,
    traces.flatMap(({ customer_id, call_id, sip_messages }) =>
      sip_messages.map(message => ({ ...message, customer_id, call_id })),
    ),
  );
  await insert(
    MEDIA,
    traces.flatMap(({ customer_id, call_id, media }) =>
      media ? [{ call_id, customer_id, timestamp: media.timestamp, data: media.facts }] : [],
    ),
  );
};

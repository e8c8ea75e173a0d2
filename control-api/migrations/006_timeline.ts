import type { Transaction } from '../db.ts';

const TIMELINE = `
  create table sip_messages (
    id uuid primary key,
    customer_id uuid not null,
    call_id uuid not null,
    timestamp timestamptz not null,
    direction text not null check (direction in ('received', 'sent')),
    transport text not null,
    method text not null,
    src_ip text not null,
    src_port integer not null,
    dst_ip text not null,
    dst_port integer not null,
    raw text not null
  );
  create index sip_messages_of_call on sip_messages (call_id, timestamp);
  create table call_media (
    call_id uuid primary key,
    customer_id uuid not null,
    timestamp timestamptz not null,
    data jsonb not null
  );
  create table timeline_notes (
    id uuid primary key,
    customer_id uuid not null,
    event_type text not null,
    resource_id uuid not null,
    activeflow_id uuid,
    timestamp timestamptz not null,
    data jsonb not null
  );
  create index timeline_notes_of_resource on timeline_notes (resource_id, timestamp);
  create index timeline_notes_of_activeflow on timeline_notes (activeflow_id, timestamp)
    where activeflow_id is not null;`;

/** What timelines tell beside the event log: SIP messages, media facts, and notes that no client is sent. Kept for good. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(TIMELINE);
};

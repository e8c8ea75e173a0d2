import type { Knex } from 'knex';

/** Tables of live resources: a copy of what media-app holds in Redis, written by the projector only. */
const LIVE_TABLES = ['calls', 'groupcalls', 'activeflows'];

const liveTable = (table: string): string => `
  create table ${table} (
    id uuid primary key,
    customer_id uuid not null,
    version integer not null,
    data jsonb not null,
    tm_create timestamptz not null,
    tm_delete timestamptz
  );
  create index ${table}_of_customer on ${table} (customer_id, tm_create desc);`;

const EVENTS = `
  create table event_sequences (
    customer_id uuid primary key,
    last bigint not null
  );
  create table events (
    id uuid primary key,
    customer_id uuid not null,
    sequence bigint not null,
    event_type text not null,
    topic text not null,
    resource text not null,
    resource_id uuid not null,
    activeflow_id uuid,
    timestamp timestamptz not null,
    data jsonb not null,
    request_id text not null,
    unique (customer_id, sequence)
  );
  create index events_of_resource on events (resource_id, sequence);
  create index events_of_activeflow on events (activeflow_id, sequence) where activeflow_id is not null;`;

/**
 * `waiting` is behind an unsettled delivery of the same resource, so that whoever looks for work need not look at it.
 * `first_attempt_at` starts the three days: a delivery that waits behind another has not begun to fail.
 */
const WEBHOOKS = `
  create table webhook_deliveries (
    id uuid primary key default gen_random_uuid(),
    event_id uuid not null references events (id) on delete cascade,
    customer_id uuid not null,
    sequence bigint not null,
    target text not null check (target in ('customer', 'activeflow')),
    order_key text not null,
    uri text not null,
    method text not null,
    state text not null default 'pending' check (state in ('waiting', 'pending', 'delivered', 'dead')),
    attempts integer not null default 0,
    first_attempt_at timestamptz,
    next_attempt_at timestamptz not null default now(),
    last_status integer,
    last_error text,
    tm_create timestamptz not null default now(),
    tm_update timestamptz,
    unique (event_id, target)
  );
  create index webhook_deliveries_due on webhook_deliveries (customer_id, next_attempt_at) where state = 'pending';
  create index webhook_deliveries_in_order on webhook_deliveries (order_key, sequence)
    where state in ('waiting', 'pending');
  create table webhook_attempts (
    delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
    attempt integer not null,
    uri text not null,
    status integer,
    error text,
    duration_ms integer not null,
    tm_create timestamptz not null default now(),
    primary key (delivery_id, attempt)
  );`;

/** One row: up to where the stream is in Postgres. Entries nobody can read are kept apart, for people to look at. */
const PROJECTOR = `
  create table projector_cursor (
    one boolean primary key default true check (one),
    stream_id text not null
  );
  insert into projector_cursor (stream_id) values ('0-0');
  create table projector_refused (
    stream_id text primary key,
    entry text not null,
    reason text not null,
    tm_create timestamptz not null default now()
  );`;

/** Live rows, the event log, its deliveries and the projector's place in the stream. */
export const up = async (knex: Knex): Promise<void> => {
  for (const table of LIVE_TABLES) await knex.raw(liveTable(table));
  await knex.raw(EVENTS);
  await knex.raw(WEBHOOKS);
  await knex.raw(PROJECTOR);
};

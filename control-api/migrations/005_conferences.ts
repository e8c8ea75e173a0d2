import type { Knex } from 'knex';

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

/** Conferences and their participants: copies of live records, written by the projector only. */
export const up = async (knex: Knex): Promise<void> => {
  await knex.raw(liveTable('conferences'));
  await knex.raw(liveTable('conferencecalls'));
  await knex.raw("create index conferences_by_direct_hash on conferences ((data ->> 'direct_hash'))");
  await knex.raw("create index conferencecalls_of_conference on conferencecalls ((data ->> 'conference_id'))");
};

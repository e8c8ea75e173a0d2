import type { Knex } from 'knex';

/** Transfers: copies of live records, written by the projector only. */
export const up = async (knex: Knex): Promise<void> => {
  await knex.raw(`
  create table transfers (
    id uuid primary key,
    customer_id uuid not null,
    version integer not null,
    data jsonb not null,
    tm_create timestamptz not null,
    tm_delete timestamptz
  );
  create index transfers_of_customer on transfers (customer_id, tm_create desc);`);
};

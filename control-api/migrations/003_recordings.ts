import type { Knex } from 'knex';

/**
 * Recordings, as media-app reports them (written by the projector only), and whether the files of a deleted one are
 * gone, which is this process's own business.
 */
export const up = async (knex: Knex): Promise<void> => {
  await knex.raw(`
    create table recordings (
      id uuid primary key,
      customer_id uuid not null,
      version integer not null,
      data jsonb not null,
      tm_create timestamptz not null,
      tm_delete timestamptz,
      files_removed boolean not null default false
    );
    create index recordings_of_customer on recordings (customer_id, tm_create desc);
    create index recordings_to_remove on recordings (id) where tm_delete is not null and not files_removed;`);
};

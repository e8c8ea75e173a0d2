import type { Transaction } from '../db.ts';

/**
 * Where the files of a recording are: `local` in the folder media-app keeps them in, `stored` as files of the customer,
 * `removed` with it. `contents`: their facts, as media-app found them, once they are stored. `files_due`: not before then
 * are they looked after (again). Recordings that were kept before are stored too.
 */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(`
    alter table recordings
      add column files text not null default 'local' check (files in ('local', 'stored', 'removed')),
      add column contents jsonb,
      add column files_due timestamptz not null default now();
    update recordings set files = 'removed' where files_removed;
    alter table recordings drop column files_removed;
    create index recordings_files_due on recordings (files_due)
      where data ->> 'status' = 'ended' and (files = 'local' or tm_delete is not null and files <> 'removed');
    create unique index storage_files_of_recording on storage_files (reference_id, filename)
      where reference_type = 'recording';
    create index storage_files_recorded on storage_files (filename) where reference_type = 'recording';`);
};

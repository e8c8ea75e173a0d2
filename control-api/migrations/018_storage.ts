import type { Transaction } from '../db.ts';

const TIMES = `
  tm_create timestamptz not null,
  tm_update timestamptz,
  tm_delete timestamptz`;

/** What a customer keeps. The totals move with the files, in one transaction; `removed`: the bytes of a deleted file are gone. */
const TABLES = `
create table storage_accounts (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  total_file_count bigint not null default 0,
  total_file_size bigint not null default 0,${TIMES}
);
create unique index storage_accounts_customer on storage_accounts (customer_id) where tm_delete is null;

create table storage_files (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  owner_type text not null default '',
  owner_id uuid not null default '00000000-0000-0000-0000-000000000000',
  reference_type text not null default '' check (reference_type in ('', 'normal', 'recording')),
  reference_id uuid not null default '00000000-0000-0000-0000-000000000000',
  type text not null check (type in ('', 'rag', 'talk', 'recording')),
  name text not null default '',
  detail text not null default '',
  filename text not null,
  filesize bigint not null,
  removed boolean not null default false,${TIMES}
);
create index storage_files_customer on storage_files (customer_id, tm_create desc);
create index storage_files_unremoved on storage_files (tm_delete) where tm_delete is not null and not removed;

insert into storage_accounts (id, customer_id, tm_create)
  select gen_random_uuid(), id, clock_timestamp() from customers where tm_delete is null;

create function keep_storage_account() returns trigger language plpgsql as $$
begin
  insert into storage_accounts (id, customer_id, tm_create) values (gen_random_uuid(), new.id, clock_timestamp())
    on conflict do nothing;
  return null;
end $$;
create trigger customer_storage_account after insert on customers
  for each row execute function keep_storage_account();`;

/** Storage accounts, one for each customer from its first moment, and files. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(TABLES);
};

import type { Transaction } from '../db.ts';

const EMPTY = `'00000000-0000-0000-0000-000000000000'`;

/** An address without a contact has the empty id there; a contact has at most one primary address of a type. */
const CONTACTS = `
  create table contacts (
    id uuid primary key,
    customer_id uuid not null references customers (id),
    first_name text not null,
    last_name text not null,
    display_name text not null,
    company text not null,
    job_title text not null,
    source text not null check (source in ('manual', 'import', 'api', 'sync')),
    external_id text not null,
    notes text not null,
    tag_ids jsonb not null default '[]',
    tm_create timestamptz not null,
    tm_update timestamptz,
    tm_delete timestamptz
  );
  create index contacts_customer on contacts (customer_id, tm_create desc);

  create table contact_addresses (
    id uuid primary key,
    customer_id uuid not null references customers (id),
    contact_id uuid not null default ${EMPTY},
    type text not null check (type in ('tel', 'email', 'web_session')),
    target text not null,
    target_name text not null default '',
    name text not null default '',
    detail text not null default '',
    is_primary boolean not null default false check (not is_primary or contact_id <> ${EMPTY}),
    tm_create timestamptz not null,
    tm_update timestamptz,
    tm_delete timestamptz
  );
  create unique index contact_addresses_target on contact_addresses (customer_id, type, target) where tm_delete is null;
  create unique index contact_addresses_primary on contact_addresses (contact_id, type)
    where tm_delete is null and is_primary;
  create index contact_addresses_contact on contact_addresses (contact_id) where tm_delete is null;
  create index contact_addresses_customer on contact_addresses (customer_id, tm_create desc);`;

/** People outside, and the addresses they are known by. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(CONTACTS);
};

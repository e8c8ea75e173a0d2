import type { Transaction } from '../db.ts';

const ACCOUNTS = `
  alter table customers
    add column terms_agreed_version text not null default '',
    add column terms_agreed_ip text not null default '';
  create index customers_unverified on customers (tm_create) where status = 'initial';
  create index customers_frozen on customers (tm_deletion_scheduled) where status = 'frozen';`;

/**
 * A direct hash is written with its resource; the record beside it follows by itself, so that every kind of resource has
 * its hashes in one place, where no two are alike (accounts-and-plumbing 17). A kind joins with one trigger.
 */
const DIRECTS = `
  create table directs (
    id uuid primary key,
    customer_id uuid not null,
    resource_type text not null,
    resource_id uuid not null,
    hash text not null unique,
    tm_create timestamptz not null,
    tm_update timestamptz,
    tm_delete timestamptz,
    unique (resource_type, resource_id)
  );
  create index directs_customer on directs (customer_id, tm_create desc);

  create function keep_direct() returns trigger language plpgsql as $$
  declare
    resource jsonb := to_jsonb(new);
    wanted text := coalesce(resource ->> 'direct_hash', resource -> 'data' ->> 'direct_hash', '');
  begin
    if new.tm_delete is not null or wanted = '' then
      delete from directs where resource_type = tg_argv[0] and resource_id = new.id;
    else
      insert into directs (id, customer_id, resource_type, resource_id, hash, tm_create)
      values (gen_random_uuid(), new.customer_id, tg_argv[0], new.id, wanted, clock_timestamp())
      on conflict (resource_type, resource_id) do update set hash = excluded.hash, tm_update = clock_timestamp()
        where directs.hash <> excluded.hash;
    end if;
    return null;
  end $$;
  create trigger extension_direct after insert or update of direct_hash, tm_delete on extensions
    for each row execute function keep_direct('extension');
  create trigger agent_direct after insert or update of direct_hash, tm_delete on agents
    for each row execute function keep_direct('agent');
  create trigger conference_direct after insert or update on conferences
    for each row execute function keep_direct('conference');

  insert into directs (id, customer_id, resource_type, resource_id, hash, tm_create)
    select gen_random_uuid(), customer_id, 'extension', id, direct_hash, tm_create from extensions where tm_delete is null
    union all
    select gen_random_uuid(), customer_id, 'agent', id, direct_hash, tm_create from agents
      where tm_delete is null and direct_hash <> ''
    union all
    select gen_random_uuid(), customer_id, 'conference', id, data ->> 'direct_hash', tm_create from conferences
      where tm_delete is null and data ->> 'direct_hash' <> '';`;

/** Of a link only the hash of its secret is kept; used and expired ones stay for a while, to tell them from unknown ones. */
const LINKS = `
  create table link_tokens (
    hash text primary key,
    purpose text not null check (purpose in ('verify', 'password')),
    customer_id uuid not null references customers (id),
    agent_id uuid references agents (id),
    tm_create timestamptz not null,
    tm_expire timestamptz not null,
    tm_use timestamptz
  );
  create index link_tokens_customer on link_tokens (customer_id, purpose, tm_create);
  create index link_tokens_expire on link_tokens (tm_expire);`;

/** Letters wait here until they are sent; then their text, which may hold a link, is blanked. */
const MAILS = `
  create table mails (
    id uuid primary key,
    customer_id uuid not null,
    kind text not null,
    recipient text not null,
    subject text not null,
    body text not null,
    attempts integer not null default 0,
    error text not null default '',
    tm_create timestamptz not null,
    tm_next timestamptz,
    tm_sent timestamptz
  );
  create index mails_due on mails (tm_next) where tm_next is not null;`;

/** Signup and its derived facts: agreed terms, records of direct hashes, links in letters, the letters themselves. */
export const up = async (trx: Transaction): Promise<void> => {
  for (const part of [ACCOUNTS, DIRECTS, LINKS, MAILS]) await trx.raw(part);
};

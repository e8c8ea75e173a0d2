import type { Transaction } from '../db.ts';

/** Accounts, credentials and the stored resources. A unique index covers live rows only, so deleted names come free. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(ACCOUNTS);
  await trx.raw(RESOURCES);
};

const TIMES = `
  tm_create timestamptz not null,
  tm_update timestamptz,
  tm_delete timestamptz`;

const EMPTY = `'00000000-0000-0000-0000-000000000000'`;

const ACCOUNTS = `
create table settings (key text primary key, value text not null);

create table customers (
  id uuid primary key,
  name text not null default '',
  detail text not null default '',
  email text not null default '',
  email_verified boolean not null default false,
  phone_number text not null default '',
  address text not null default '',
  status text not null check (status in ('initial', 'active', 'frozen', 'expired', 'deleted')),
  webhook_method text not null default '' check (webhook_method in ('', 'POST', 'GET', 'PUT', 'DELETE')),
  webhook_uri text not null default '',
  webhook_secret text not null default '',
  sip_label text not null unique,
  home boolean not null default false,
  billing_account_id uuid not null default ${EMPTY},
  metadata jsonb not null default '{"rtp_debug": false}',
  identity_verification_status text not null default 'none'
    check (identity_verification_status in ('none', 'pending', 'verified', 'rejected')),
  tm_deletion_scheduled timestamptz,${TIMES}
);
create unique index customers_email on customers (lower(email)) where tm_delete is null and email <> '';
create unique index customers_home on customers (home) where home;

create table agents (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  username text not null,
  password text not null,
  name text not null default '',
  detail text not null default '',
  ring_method text not null default 'ringall' check (ring_method in ('ringall', 'linear')),
  status text not null default 'offline',
  permission integer not null,
  tag_ids jsonb not null default '[]',
  addresses jsonb not null default '[]',
  direct_hash text not null default '',${TIMES}
);
create unique index agents_username on agents (lower(username)) where tm_delete is null;
create index agents_customer on agents (customer_id, tm_create desc);

create table accesskeys (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  name text not null,
  detail text not null,
  token_hash text not null unique,
  token_prefix text not null,
  tm_expire timestamptz not null,${TIMES}
);
create index accesskeys_customer on accesskeys (customer_id, tm_create desc);
`;

const RESOURCES = `
create table flows (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  type text not null default 'flow',
  name text not null,
  detail text not null,
  actions jsonb not null,
  on_complete_flow_id uuid not null default ${EMPTY},
  persistent boolean not null default true,
  tm_expire timestamptz,${TIMES}
);
create index flows_customer on flows (customer_id, tm_create desc) where persistent;
create index flows_expire on flows (tm_expire) where tm_expire is not null;

create table extensions (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  name text not null,
  detail text not null,
  extension text not null,
  username text not null,
  password text not null,
  domain_name text not null,
  direct_hash text not null,${TIMES}
);
create unique index extensions_extension on extensions (customer_id, extension) where tm_delete is null;
create unique index extensions_direct_hash on extensions (direct_hash) where tm_delete is null;
create index extensions_domain on extensions (domain_name, username) where tm_delete is null;
create index extensions_customer on extensions (customer_id, tm_create desc);

create table numbers (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  number text not null,
  type text not null check (type in ('normal', 'virtual')),
  status text not null check (status in ('active', 'deleted')),
  call_flow_id uuid not null default ${EMPTY},
  message_flow_id uuid not null default ${EMPTY},
  name text not null,
  detail text not null,
  t38_enabled boolean not null default false,
  emergency_enabled boolean not null default false,
  metadata jsonb not null default '{"rtp_debug": false}',
  tm_purchase timestamptz,
  tm_renew timestamptz,${TIMES}
);
create unique index numbers_number on numbers (number) where tm_delete is null;
create index numbers_customer on numbers (customer_id, tm_create desc);
`;

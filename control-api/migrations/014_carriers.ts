import type { Transaction } from '../db.ts';

const TIMES = `
  tm_create timestamptz not null,
  tm_update timestamptz,
  tm_delete timestamptz`;

const EMPTY = `'00000000-0000-0000-0000-000000000000'`;

/** Routes name their customer without a foreign key: the owner of the default routes is no customer. */
const TABLES = `
create table trunks (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  name text not null,
  detail text not null,
  domain_name text not null,
  auth_types jsonb not null,
  username text not null,
  password text not null,
  allowed_ips jsonb not null,${TIMES}
);
create unique index trunks_domain_name on trunks (domain_name) where tm_delete is null;
create index trunks_customer on trunks (customer_id, tm_create desc);

create table providers (
  id uuid primary key,
  type text not null check (type in ('sip')),
  hostname text not null,
  tech_prefix text not null,
  tech_postfix text not null,
  tech_headers jsonb not null,
  name text not null,
  detail text not null,
  codecs text not null,
  username text not null,
  password text not null,
  register boolean not null,
  allowed_ips jsonb not null,
  max_calls integer not null,
  max_calls_per_second integer not null,
  metadata jsonb not null default '{}',
  health_status text not null default 'unknown' check (health_status in ('unknown', 'healthy', 'unhealthy')),
  health_checked_at timestamptz,${TIMES}
);

create table routes (
  id uuid primary key,
  customer_id uuid not null,
  name text not null,
  detail text not null,
  provider_id uuid not null references providers (id),
  priority integer not null,
  target text not null,${TIMES}
);
create index routes_customer on routes (customer_id, target) where tm_delete is null;

create table outbound_configs (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  name text not null default '',
  detail text not null default '',
  destination_whitelist jsonb not null default '[]',
  codecs text not null default '',
  default_outgoing_source_number_id uuid not null default ${EMPTY},${TIMES}
);
create unique index outbound_configs_customer on outbound_configs (customer_id) where tm_delete is null;

create table providercalls (
  id uuid primary key,
  customer_id uuid not null references customers (id),
  provider_id uuid not null references providers (id),
  flow_id uuid not null,
  source jsonb not null,
  destinations jsonb not null,
  anonymous text not null,
  call_ids jsonb not null,
  groupcall_ids jsonb not null,${TIMES}
);
create index providercalls_provider on providercalls (provider_id, tm_create desc);`;

/** `carrier` is empty again once a deleted number was given back; nobody is shown it. */
const NUMBERS = `
alter table numbers add column carrier text not null default '';
alter table numbers add column carrier_reference text not null default '';
create index numbers_to_release on numbers (id) where tm_delete is not null and carrier <> '';`;

const CONFIGS = `
insert into outbound_configs (id, customer_id, tm_create)
select gen_random_uuid(), id, now() from customers where tm_delete is null;`;

/** Trunks, providers, routes, outbound configs and provider calls; what the carrier of a number calls it. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(TABLES);
  await trx.raw(NUMBERS);
  await trx.raw(CONFIGS);
};

import type { Transaction } from '../db.ts';

/**
 * `agent_addresses` says which live agent of a customer an address belongs to: at most one. Calls look there for their
 * owner. The list as its agent sees it is `agents.addresses`, written in the same transaction.
 */
const PEOPLE = `
  create table agent_addresses (
    customer_id uuid not null references customers (id),
    type text not null check (type in ('extension', 'tel', 'sip')),
    target text not null,
    agent_id uuid not null references agents (id),
    primary key (customer_id, type, target)
  );
  create index agent_addresses_agent on agent_addresses (agent_id);

  update agents set direct_hash = 'direct.' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)
    where direct_hash = '' and tm_delete is null;
  create unique index agents_direct_hash on agents (direct_hash) where tm_delete is null and direct_hash <> '';

  create table tags (
    id uuid primary key,
    customer_id uuid not null references customers (id),
    name text not null,
    detail text not null,
    tm_create timestamptz not null,
    tm_update timestamptz,
    tm_delete timestamptz
  );
  create index tags_customer on tags (customer_id, tm_create desc);`;

/** Agents with addresses of their own, and tags. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(PEOPLE);
};

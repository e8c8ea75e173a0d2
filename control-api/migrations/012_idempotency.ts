import type { Transaction } from '../db.ts';

/**
 * What a request with an Idempotency-Key was answered. Without `status` it is being handled, or was when its process
 * died; `leased_until` tells which. The key itself is not kept, and the answer is sealed with it (http/idempotency.ts).
 */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(`
    create table idempotency_keys (
      customer_id uuid not null,
      path text not null,
      key_hash bytea not null,
      fingerprint bytea not null,
      leased_until timestamptz not null,
      status integer,
      answer bytea,
      tm_create timestamptz not null default now(),
      primary key (customer_id, path, key_hash)
    );
    create index idempotency_keys_old on idempotency_keys (tm_create);`);
};

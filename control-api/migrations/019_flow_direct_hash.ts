import type { Transaction } from '../db.ts';

/** Stored flows can be dialled: each has a direct hash, with its record beside it (accounts-and-plumbing 17). */
const FLOWS = `
  alter table flows add column direct_hash text not null default '';
  create unique index flows_direct_hash on flows (direct_hash) where tm_delete is null and direct_hash <> '';
  create trigger flow_direct after insert or update of direct_hash, tm_delete on flows
    for each row execute function keep_direct('flow');
  update flows set direct_hash = 'direct.' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)
    where persistent and tm_delete is null;`;

export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(FLOWS);
};

import type { Transaction } from '../db.ts';

/** Whom a call was with: who called, or was called. Columns of their own, because an index on `data` would make every update of a call dear. */
const PEERS = `
  alter table calls
    add column peer_type text generated always as
      (case data ->> 'direction' when 'incoming' then data #>> '{source,type}' else data #>> '{destination,type}' end) stored,
    add column peer_target text generated always as
      (case data ->> 'direction' when 'incoming' then data #>> '{source,target}' else data #>> '{destination,target}' end) stored;
  create index calls_of_peer on calls (customer_id, peer_type, peer_target, tm_create desc) where tm_delete is null;`;

/** Calls can be found by whom they were with. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(PEERS);
};

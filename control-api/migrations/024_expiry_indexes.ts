import type { Transaction } from '../db.ts';

/** What sweeps look for among rows of which nearly all are not it: deliveries that arrived, calls of closed accounts. */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(`
    create index webhook_deliveries_arrived on webhook_deliveries (tm_create) where state = 'delivered';
    create index calls_not_ended on calls (customer_id) where data ->> 'status' <> 'hangup';`);
};

import type { Transaction } from '../db.ts';

/** What a customer's calls to telephones cost in a day, which is asked before every one of them (CUSTOMER_MAX_SPEND_PER_DAY). */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(`
    create index billings_to_telephones on billings (customer_id, tm_create) where cost_type = 'call_pstn_outgoing';`);
};

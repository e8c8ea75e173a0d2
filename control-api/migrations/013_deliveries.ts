import type { Transaction } from '../db.ts';

/**
 * Deliveries as a resource. `tm_last` of a customer makes creation times strictly increase, so that a page of a list
 * never skips one (events/log.ts). `attempts_before` counts the attempts before the last replay: back-off starts anew.
 */
export const up = async (trx: Transaction): Promise<void> => {
  await trx.raw(`
    alter table webhook_deliveries rename column next_attempt_at to tm_next_attempt;
    alter table webhook_deliveries rename column first_attempt_at to tm_first_attempt;
    alter table webhook_deliveries add column attempts_before integer not null default 0;
    update webhook_deliveries d set tm_create = d.tm_create + tied.place * interval '1 microsecond'
    from (select id, row_number() over (partition by customer_id, tm_create order by sequence, target) - 1 as place
      from webhook_deliveries) tied
    where tied.id = d.id and tied.place > 0;
    alter table event_sequences add column tm_last timestamptz not null default now();
    create index webhook_deliveries_of_customer on webhook_deliveries (customer_id, tm_create desc);
    create index webhook_deliveries_in_state on webhook_deliveries (customer_id, state, tm_create desc);`);
};

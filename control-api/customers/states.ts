import { PlatformError } from '#contract/errors';
import { timestamp, type Timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import { CUSTOMER_STATUSES, type CustomerStatus } from '../http/authenticate.ts';
import type { Context } from '../http/context.ts';
import { deletionEffectiveAt } from '../http/gate.ts';
import { deletedLetter, goodbyeLetter } from '../mail/letters.ts';
import { post } from '../mail/outbox.ts';
import { tellCustomer } from '../resources/customer.ts';
import type { Row } from '../resources/resource.ts';
import { endLive } from './end-live.ts';
import { forgetPhones } from './forget-phones.ts';
import { removeBelongings } from './belongings.ts';

/** A customer's row with what its states ask. */
interface CustomerRow extends Row {
  status: CustomerStatus;
  email: string;
  email_verified: boolean;
  home: boolean;
  tm_deletion_scheduled: Timestamp | null;
}

type Work = (trx: Transaction, row: CustomerRow) => Promise<Row>;

/** The row, locked until the change commits. Rejects CUSTOMER_NOT_FOUND. */
const locked = async (trx: Transaction, id: string): Promise<CustomerRow> => {
  const row = await trx<CustomerRow>('customers').where({ id }).forUpdate().first();
  if (!row) throw new PlatformError('CUSTOMER_NOT_FOUND', 'Customer not found.');
  return row;
};

const change = (context: Context, id: string, work: Work): Promise<Row> =>
  context.db.transaction(async trx => work(trx, await locked(trx, id)));

const write = async (trx: Transaction, id: string, values: Record<string, unknown>): Promise<Row> => {
  const [row] = await trx<Row>('customers')
    .where({ id })
    .update({ ...values, tm_update: timestamp() })
    .returning('*');
  return row as Row;
};

/** The money of a customer stands still while it is frozen (9.4). */
const setAccounts = async (trx: Transaction, customer_id: string, status: 'active' | 'frozen'): Promise<void> => {
  await trx('billing_accounts')
    .where({ customer_id })
    .whereNull('tm_delete')
    .update({ status, tm_update: timestamp() });
};

const wrongState = (sentence: string): PlatformError => new PlatformError('STATE_INVALID', sentence);

/**
 * Freezes an account: it is deleted in 30 days unless it is recovered before; its calls end, and its owner is told
 * (accounts-and-plumbing 8.9, 9.4). A frozen one keeps its schedule. Rejects STATE_INVALID when it is expired or deleted.
 */
export const freezeCustomer = async (context: Context, id: string, request_id: string): Promise<Row> => {
  const frozen = await change(context, id, async (trx, row) => {
    if (row.status === 'frozen') return row;
    if (row.status !== 'active' && row.status !== 'initial')
      throw wrongState(`An account that is ${row.status} cannot be frozen.`);
    const now = timestamp();
    const after = await write(trx, id, { status: 'frozen', tm_deletion_scheduled: now });
    await setAccounts(trx, id, 'frozen');
    await tellCustomer(trx, 'customer_frozen', after, request_id);
    await post(trx, { customer_id: id, recipient: row.email }, goodbyeLetter(deletionEffectiveAt(now)));
    return after;
  });
  context.mail.wake();
  await endLive(context, id, request_id, ['call']);
  return frozen;
};

/**
 * Takes the deletion of a frozen account back. One whose address was never verified is initial again, or freezing and
 * recovering would be a way round verification. Rejects STATE_INVALID when it is not frozen.
 */
export const recoverCustomer = (context: Context, id: string, request_id: string): Promise<Row> =>
  change(context, id, async (trx, row) => {
    if (row.status !== 'frozen') throw wrongState('The account is not frozen.');
    const status = row.email_verified ? 'active' : 'initial';
    const after = await write(trx, id, { status, tm_deletion_scheduled: null });
    await setAccounts(trx, id, 'active');
    await tellCustomer(trx, 'customer_recovered', after, request_id);
    return after;
  });

/** Who it was is forgotten; that it was there stays (9.4). */
const forgotten = (id: string, sipDomain: string) => ({
  status: 'deleted',
  name: `deleted_user_${id.slice(0, 8)}`,
  email: `deleted_${id.slice(0, 8)}@removed.${sipDomain}`,
  phone_number: '',
  address: '',
});

/**
 * Deletes an account and all that belongs to it, for good. Deleting twice is no error. Calls and rooms end, and phones
 * are forgotten, after the commit; should this process die in between, the job of accounts ends the calls
 * (jobs/accounts.ts). An account that is in none of the states `from` stays as it is, and so do its calls.
 */
export const removeCustomer = async (
  context: Context,
  id: string,
  request_id: string,
  from: readonly CustomerStatus[] = CUSTOMER_STATUSES,
): Promise<Row> => {
  const removed = await change(context, id, async (trx, row) => {
    if (row.status === 'deleted' || !from.includes(row.status)) return row;
    const after = await write(trx, id, forgotten(id, context.sipDomain));
    const gone = { ...after, tm_delete: timestamp(), webhook_uri: '' };
    // The last event still goes to the webhook that the account had.
    await tellCustomer(trx, 'customer_deleted', gone, request_id);
    await post(trx, { customer_id: id, recipient: row.email }, deletedLetter());
    await removeBelongings(trx, id);
    return write(trx, id, { webhook_uri: '', tm_delete: gone.tm_delete });
  });
  if (removed['status'] !== 'deleted') return removed;
  context.mail.wake();
  context.recordingFiles.sweep();
  context.storedFiles.sweep();
  context.numberReleases.sweep();
  await endLive(context, id, request_id, ['call', 'conference']);
  for (const extension_id of await context.db('extensions').where({ customer_id: id }).pluck<string[]>('id'))
    forgetPhones(context, { customer_id: id, extension_id, request_id });
  return removed;
};

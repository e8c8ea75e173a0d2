import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import { fromDate, timestamp } from '#contract/time';
import type { Db, Transaction } from '../db.ts';
import type { Context } from '../http/context.ts';
import type { Upload } from '../http/upload.ts';
import type { Row } from '../resources/resource.ts';
import type { Scope } from '../resources/store.ts';

/** What all files of a customer may have together, in bytes (accounts-and-plumbing 30.1). */
export const QUOTA_BYTES = 10 * 1024 ** 3;

/** An upload that is not kept after so long never will be, in milliseconds. */
const PENDING_MS = 3_600_000;

type Size = Pick<Row, 'customer_id'> & { filesize: number };

/**
 * Counts a new file in its customer's account. Rejects RESOURCE_LIMIT_EXCEEDED when it has no room and ACCOUNT_NOT_FOUND
 * when there is none; with `over` neither matters: the file exists already, and counts where there is an account.
 */
export const addToAccount = async (
  trx: Transaction,
  { customer_id, filesize }: Size,
  { over = false } = {},
): Promise<void> => {
  const account = () => trx('storage_accounts').where({ customer_id }).whereNull('tm_delete');
  const counted = await account()
    .whereRaw('(? or total_file_size + ? <= ?)', [over, filesize, QUOTA_BYTES])
    .increment({ total_file_count: 1, total_file_size: filesize })
    .update({ tm_update: timestamp() });
  if (counted > 0 || over) return;
  const { total_file_size } = (await account().first<{ total_file_size: number } | undefined>()) ?? {};
  if (total_file_size === undefined) throw new PlatformError('ACCOUNT_NOT_FOUND', 'There is no storage account.');
  throw new PlatformError(
    'RESOURCE_LIMIT_EXCEEDED',
    `The file has ${filesize} bytes, and of the account's ${QUOTA_BYTES} there are ${Math.max(0, QUOTA_BYTES - total_file_size)} left. Delete files first.`,
  );
};

/** Takes a deleted file off its customer's account. */
export const takeFromAccount = async (trx: Transaction, row: Row): Promise<void> => {
  const { customer_id, filesize } = row as unknown as Size;
  await trx('storage_accounts')
    .where({ customer_id })
    .whereNull('tm_delete')
    .decrement({ total_file_count: 1, total_file_size: filesize })
    .update({ tm_update: timestamp() });
};

/** What a customer's files are together: the totals that a new account begins with. */
export const totalsOf = async (db: Db, customer_id: string) => {
  const files = db('storage_files').where({ customer_id }).whereNull('tm_delete');
  const found = await files
    .count<{ total_file_count: number }[]>({ total_file_count: '*' })
    .select<{ total_file_count: number; total_file_size: number }[]>(
      db.raw('coalesce(sum(filesize), 0)::bigint as total_file_size'),
    );
  return found[0] ?? { total_file_count: 0, total_file_size: 0 };
};

interface Keeping {
  context: Pick<Context, 'db' | 'vault'>;
  scope: Scope;
  upload: Upload;
  /** Columns beside those that follow from the upload. */
  values: Record<string, unknown>;
  /** Tells of the file, in the transaction that makes it true. */
  tell(trx: Transaction, row: Row): Promise<void>;
}

/**
 * Puts down that bytes are on their way: a row that counts as deleted an hour from now, whose bytes the sweep removes
 * then unless they are kept before. Nothing when an earlier try of the request has kept the file already.
 */
const announce = async ({ context, scope, upload, values }: Keeping, id: string): Promise<boolean> => {
  const { type, filename, size: filesize } = upload;
  const tm_delete = fromDate(new Date(Date.now() + PENDING_MS));
  const row = { id, customer_id: scope.customer_id, type, filename, filesize, tm_create: timestamp(), tm_delete };
  const announced = await context
    .db('storage_files')
    .insert({ ...row, ...values })
    .onConflict('id')
    .merge({ tm_delete })
    .where('storage_files.tm_delete', '>', timestamp())
    .returning('id');
  return announced.length > 0;
};

/**
 * Gives an upload up: bytes and row go. The lock waits for a transaction whose end we have not heard, so what was kept
 * all the same stays. When the bytes cannot be removed now, the row remains and the sweep tries again.
 */
const giveUp = ({ db, vault }: Keeping['context'], id: string): Promise<void> =>
  db.transaction(async trx => {
    const pending = () => trx('storage_files').where({ id }).where('tm_delete', '>', timestamp());
    if (!(await pending().forUpdate().first('id'))) return;
    await vault.remove(id);
    await pending().delete();
  });

/**
 * Keeps a file: its bytes first, then its row, its event and the account's totals in one transaction; resolves with its
 * id. Whatever dies in between, there is no file without bytes, and bytes without a file are removed. Rejects
 * RESOURCE_LIMIT_EXCEEDED, ACCOUNT_NOT_FOUND, SERVICE_UNAVAILABLE.
 */
export const keepFile = async (keeping: Keeping): Promise<string> => {
  const { context, scope, upload } = keeping;
  const id = scope.fresh_id ?? newId();
  if (!(await announce(keeping, id))) return id;
  try {
    await context.vault.put(id, upload.path);
    await context.db.transaction(async trx => {
      const pending = trx<Row>('storage_files').where('id', id).where('tm_delete', '>', timestamp());
      const [row] = await pending.update({ tm_delete: null, tm_create: timestamp() }).returning('*');
      if (!row) throw new PlatformError('SERVICE_UNAVAILABLE', 'Keeping the file took too long. Try again.');
      await addToAccount(trx, row as Row & Size);
      await keeping.tell(trx, row);
    });
  } catch (error) {
    // Its own failure must not hide this one; the row says when the bytes go.
    await giveUp(context, id).catch(() => undefined);
    throw error;
  }
  return id;
};

import { createHash } from 'node:crypto';
import { copyFile, link, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '#process/log';
import { newId } from '#contract/ids';
import { type Recording, type RecordingContents, recordingFiles } from '#contract/recording';
import { timestamp } from '#contract/time';
import type { Db, Transaction } from '../db.ts';
import type { Row } from '../resources/resource.ts';
import { storageFiles } from '../resources/storage-files.ts';
import { tell } from '../resources/store.ts';
import { addToAccount, takeFromAccount } from './keep.ts';
import { localContents } from './recording-audio.ts';
import type { Vault } from './vault.ts';

/** What looks after the files of recordings. */
export interface RecordingKeeper {
  db: Db;
  vault: Vault;
  /** Where media-app keeps them. */
  folder: string;
  /** Where the vault is handed files from. */
  uploadFolder: string;
  log: Log;
}

/** A file of a recording in the vault. */
interface Brought {
  id: string;
  filename: string;
  filesize: number;
}

/** Every file for people that a recording may have. */
const namesOf = (recording: Recording): string[] => {
  const { in: said, out, mixed } = recordingFiles(recording);
  return [...new Set([said, out, mixed])];
};

/**
 * The id of a recording's file follows from the two (a UUID of version 8, RFC 9562 section 5.8), so that whoever tries
 * again writes the same row and the same bytes.
 */
const fileId = ({ id }: Recording, filename: string): string => {
  const bytes = createHash('sha256').update(`${id}/${filename}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};

/** Writes a file through to the disk; media-app has only handed it to the operating system. Resolves with its bytes. */
const settled = async (path: string): Promise<number> => {
  const file = await open(path, 'r');
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
};

/** Puts a file into the vault and leaves it where it is. Rejects when it is not there. */
const bring = async (
  { folder, uploadFolder, vault }: RecordingKeeper,
  recording: Recording,
  filename: string,
): Promise<Brought> => {
  const id = fileId(recording, filename);
  const [path, handed] = [join(folder, filename), join(uploadFolder, newId())];
  try {
    // A second name costs nothing; where the two folders share no disk, a copy has to do.
    await link(path, handed).catch(() => copyFile(path, handed));
    const filesize = await settled(handed);
    await vault.put(id, handed);
    return { id, filename, filesize };
  } finally {
    // Two names of one file stay two when one is renamed to the other.
    await rm(handed, { force: true });
  }
};

/** Tells a change of several files; rows and accounts come before events in every transaction. */
const tellAll = async (trx: Transaction, verb: 'created' | 'deleted', rows: Row[]): Promise<void> => {
  const request_id = newId();
  for (const row of rows) await tell(trx, storageFiles, verb, row, request_id);
};

/**
 * Makes files of a customer of what lies in the vault, and counts them, even in an account that is full. False when the
 * recording was deleted meanwhile.
 */
const enter = async (
  trx: Transaction,
  recording: Recording,
  contents: RecordingContents,
  brought: Brought[],
): Promise<boolean> => {
  const { id, customer_id } = recording;
  const unkept = trx('recordings').where({ id, files: 'local' }).whereNull('contents').whereNull('tm_delete');
  const entered = await unkept.update({ contents: JSON.stringify(contents) });
  if (entered === 0) return false;
  const of = { customer_id, type: 'recording', reference_type: 'recording', reference_id: id };
  const rows = await trx<Row>('storage_files')
    .insert(brought.map(file => ({ ...file, ...of, name: file.filename, tm_create: timestamp() })))
    .returning('*');
  for (const { filesize } of brought) await addToAccount(trx, { customer_id, filesize }, { over: true });
  await tellAll(trx, 'created', rows);
  return true;
};

const removeLocal = async (folder: string, recording: Recording): Promise<void> => {
  for (const name of Object.values(recordingFiles(recording))) await rm(join(folder, name), { force: true });
};

/**
 * Makes stored files of the files of an ended recording: first their bytes lie in the vault, then rows, account and events
 * say so in one transaction, then media-app's go. Whatever dies in between, the next try does the rest. False when
 * nothing is there to keep. Rejects when one of them is missing or the vault takes nothing; all is left as it was then.
 */
export const storeRecording = async (keeper: RecordingKeeper, recording: Recording): Promise<boolean> => {
  const { db, folder } = keeper;
  const { id } = recording;
  const known = await db('recordings').where({ id }).whereNotNull('contents').first<{ id: string }>('id');
  if (!known) {
    const contents = await localContents(folder, recording);
    if (!contents) return false;
    await mkdir(keeper.uploadFolder, { recursive: true });
    const brought: Brought[] = [];
    const names = new Set([...contents.files.map(file => file.filename), recordingFiles(recording).mixed]);
    for (const name of names) brought.push(await bring(keeper, recording, name));
    // One that was deleted meanwhile is looked after as such.
    if (!(await db.transaction(trx => enter(trx, recording, contents, brought)))) return true;
  }
  await removeLocal(folder, recording);
  await db('recordings').where({ id, files: 'local' }).update({ files: 'stored' });
  keeper.log.info({ recording_id: id }, 'the files of a recording are stored');
  return true;
};

/** Removes the files of a deleted recording, wherever they are, and gives their room back to the account. */
export const removeRecording = async ({ db, vault, folder, log }: RecordingKeeper, recording: Recording) => {
  const { id } = recording;
  const of = { reference_type: 'recording', reference_id: id };
  await db.transaction(async trx => {
    const kept = trx<Row>('storage_files').where(of).whereNull('tm_delete');
    const rows = await kept.update({ tm_delete: timestamp() }).returning('*');
    for (const row of rows) await takeFromAccount(trx, row);
    await tellAll(trx, 'deleted', rows);
  });
  // By name, not by row: a process may have died between bytes and row.
  for (const name of namesOf(recording)) await vault.remove(fileId(recording, name));
  await removeLocal(folder, recording);
  await db('storage_files').where(of).update({ removed: true });
  await db('recordings').where({ id }).update({ files: 'removed' });
  log.info({ recording_id: id }, 'the files of a deleted recording are removed');
};

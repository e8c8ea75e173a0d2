import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Recording,
  type RecordingContents,
  recordingContentsSchema,
  recordingFiles,
  RECORDINGS_FOLDER,
} from '#contract/recording';
import type { Db } from '../db.ts';
import type { Downloads, Link } from '../downloads.ts';
import type { Kept, Vault } from './vault.ts';

interface Places {
  db: Db;
  vault: Vault;
  downloads: Downloads;
}

/** What there is of a recording for people to play. */
export interface RecordingAudio {
  /** None while it has not ended, or when nothing could be kept. */
  files: RecordingContents['files'];
  /** A link to one of its files, the mixed one included; undefined when that is not there (any more). */
  linkTo: (filename: string) => Promise<Link | undefined>;
}

/**
 * The facts of a recording's files as media-app left them in its folder; undefined when there are none (any more).
 * Rejects when the disk does not read.
 */
export const localContents = async (folder: string, recording: Recording): Promise<RecordingContents | undefined> => {
  try {
    const text = await readFile(join(folder, recordingFiles(recording).contents), 'utf8');
    return recordingContentsSchema.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};

/** A link to a stored file of a recording by its name, which no two have. */
export const storedLink = async (
  { db, vault }: Pick<Places, 'db' | 'vault'>,
  filename: string,
): Promise<Link | undefined> => {
  const file = await db('storage_files')
    .where({ reference_type: 'recording', filename })
    .whereNull('tm_delete')
    .first<Kept | undefined>('id', 'filename');
  return file && vault.link(file);
};

/**
 * The audio of a recording, with media-app until it is stored. There is looked first: what is there no more is stored by
 * then, the other way round it could be missed in between.
 */
export const audioOf = async ({ db, vault, downloads }: Places, recording: Recording): Promise<RecordingAudio> => {
  const local = await localContents(join(downloads.folder, RECORDINGS_FOLDER), recording);
  if (local) return { files: local.files, linkTo: async name => downloads.link(RECORDINGS_FOLDER, name) };
  const row = await db('recordings')
    .where({ id: recording.id })
    .first<{ contents: RecordingContents | null }>('contents');
  return { files: row?.contents?.files ?? [], linkTo: name => storedLink({ db, vault }, name) };
};

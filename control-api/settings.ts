import { randomBytes } from 'node:crypto';
import type { Queryable } from './db.ts';

/** A secret that the installation generates once and keeps in the table `settings`. */
const generatedSecret = async (db: Queryable, key: string): Promise<string> => {
  const fresh = randomBytes(32).toString('base64url');
  await db('settings').insert({ key, value: fresh }).onConflict('key').ignore();
  const row = (await db<{ key: string; value: string }>('settings').where({ key }).first('value')) ?? { value: fresh };
  return row.value;
};

/** The key that signs links to files; the same for every control-api too. */
export const downloadSecret = (db: Queryable): Promise<string> => generatedSecret(db, 'download_secret');

/** The key that signs login tokens; every control-api of the installation reads the same one. */
export const tokenSecret = async (db: Queryable): Promise<Uint8Array> =>
  new TextEncoder().encode(await generatedSecret(db, 'token_secret'));

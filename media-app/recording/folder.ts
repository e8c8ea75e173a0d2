import { join, resolve } from 'node:path';
import { RECORDINGS_FOLDER } from '#contract/recording';
import type { Settings } from '../config.ts';

/** Where recordings lie, in full: media servers look relative names up below their own sounds. */
export const recordingsFolder = ({ DATA_DIR }: Pick<Settings, 'DATA_DIR'>): string =>
  join(resolve(DATA_DIR), RECORDINGS_FOLDER);

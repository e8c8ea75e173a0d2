import { startMediaApp } from './app.ts';
import { readSettings, type Settings } from './config.ts';
import { createLog } from '#process/log';
import { SettingsError } from '#process/settings';

const settingsOrExit = (): Settings => {
  try {
    return readSettings();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`media-app cannot start, its settings are wrong:\n${error.message}\n`);
    process.exit(1);
  }
};

/** How long an orderly stop may take; what is left is ended by the next start. */
const STOP_DEADLINE_MS = 4000;

const settings = settingsOrExit();
const log = createLog('media-app', settings.LOG_LEVEL);
// drachtio-fsmrf rejects promises nobody holds when a media server dies; that must not end every other call.
process.on('unhandledRejection', reason =>
  log.error(
    { error: reason instanceof Error ? reason.stack : String(reason) },
    'a promise was rejected and nobody held it',
  ),
);

const app = await startMediaApp(settings, log);

let stopping = false;
const stop = async (): Promise<void> => {
  if (stopping) return;
  stopping = true;
  log.info('stopping');
  setTimeout(() => process.exit(1), STOP_DEADLINE_MS).unref(); // stores that are gone must not keep us
  await app.stop();
  process.exit(0);
};
process.on('SIGTERM', () => void stop());
process.on('SIGINT', () => void stop());

import { createLog, type Log } from '#process/log';
import { SettingsError } from '#process/settings';
import { startApp, type App } from './app.ts';
import { readConfig, type Config } from './config.ts';

const fail = (sentence: string): never => {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
};

const configOrExit = (): Config => {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return fail(`control-api cannot start, its settings are wrong:\n${error.message}`);
  }
};

/** A URL without its credentials. */
const place = (url: string): string => new URL(url).host;

const culprit = (error: unknown, config: Config): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'EADDRINUSE')
    return `HTTP_PORT ${config.HTTP_PORT} is in use on ${config.HOST}. Stop the program or set HTTP_PORT.`;
  if (code === 'EACCES')
    return `HTTP_PORT ${config.HTTP_PORT} on ${config.HOST} or DATA_DIR ${config.DATA_DIR} is not permitted: ${message}.`;
  if (code === 'ECONNREFUSED')
    return `PostgreSQL does not answer at ${place(config.DATABASE_URL)}. Start it or set DATABASE_URL.`;
  return `control-api cannot start: ${message}.`;
};

const stopOn = (app: App, log: Log): void => {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    await app.stop();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
};

const config = configOrExit();
const log = createLog('control-api', config.LOG_LEVEL);
try {
  const app = await startApp(config, log);
  stopOn(app, log);
  log.info({ host: config.HOST, port: app.port, first_start: app.welcome !== undefined }, 'ready');
} catch (error) {
  log.debug({ err: error }, 'start failed');
  fail(culprit(error, config));
}

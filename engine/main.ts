import { pino } from 'pino';
import { readSettings } from './config.ts';
import { startEngine } from './index.ts';

/** Runs the engine as a process of its own until SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { logLevel, ...config } = readSettings(process.env);
  const log = pino({ level: logLevel, base: { process: 'engine' } });
  const engine = await startEngine({ ...config, log });
  const { sipPort, sipPorts, adminPort, adminTlsPort, eventSocketPort, mediaSipPort } = engine;
  log.info(
    { host: config.host, sipPort, ...sipPorts, adminPort, adminTlsPort, eventSocketPort, mediaSipPort },
    'ready',
  );
  process.on('SIGUSR2', () => void engine.stats().then(stats => log.info(stats, 'holds'))); // kill -USR2: what is open right now?
  process.on('SIGHUP', () => engine.reloadCertificates());
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(0), 5000).unref(); // a socket that does not close must not keep us
    void engine.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readSettings, StartError, type Settings } from './config.ts';
import { untilHealthy } from './health.ts';
import { installPrograms } from './install.ts';
import { lockDataDir } from './lock.ts';
import { formatLine } from './log-lines.ts';
import { checkPorts, settleSipPorts } from './ports.ts';
import { removeRunFile, stopLeftBehind } from './run-file.ts';
import { Supervisor } from './supervisor.ts';
import { localUrl } from './system.ts';
import { readWelcome, shortWelcome, welcomeText } from './welcome.ts';

const READY_TIMEOUT_MS = 90_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const note = (text: string): void => print(formatLine(new Date(), 'trunkline', 'info', text, false));

/** npm passes on the SIGINT that the terminal has sent to everybody: signals this close together are one Ctrl-C. */
const ONE_CTRL_C_MS = 700;

/** Runs until a signal asks for the end. The second signal stops at once what the first asked to stop in order. */
class Start {
  private readonly settings: Settings;
  private readonly supervisor: Supervisor;
  private readonly ended = new AbortController();
  private unlock: (() => void) | undefined;
  private ending: Promise<void> | undefined;
  private endingSince = 0;

  constructor(settings: Settings) {
    this.settings = settings;
    this.supervisor = new Supervisor({ settings, print, note });
  }

  async run(): Promise<void> {
    const { settings } = this;
    const begun = performance.now();
    const firstStart = !existsSync(join(settings.DATA_DIR, 'welcome.json'));
    this.unlock = lockDataDir(settings.DATA_DIR);
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => void this.end(0));
    this.watchNpm();
    await stopLeftBehind(settings.DATA_DIR, note);
    await checkPorts(settings);
    Object.assign(settings, await settleSipPorts(settings, note));
    await installPrograms(settings, note);
    note(`starting in ${resolve(settings.DATA_DIR)} …`);
    await this.supervisor.start();
    await this.untilReady();
    if (this.ended.signal.aborted) return;
    note(`ready in ${((performance.now() - begun) / 1000).toFixed(1)} s: ${localUrl(settings)}/health answers 200`);
    await this.greet(firstStart);
  }

  /** When npm itself is killed there is nobody left to pass on a Ctrl-C: that is the end too. */
  private watchNpm(): void {
    if (process.env['npm_lifecycle_event'] !== 'start') return;
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      void this.end(0);
    }, 500);
  }

  private async untilReady(): Promise<void> {
    const watch = setInterval(() => this.supervisor.failing && this.ended.abort(), 100);
    const health = await untilHealthy(localUrl(this.settings), {
      timeoutMs: READY_TIMEOUT_MS,
      given: this.ended.signal,
      onWait: detail => note(`waiting: ${detail}`),
    });
    clearInterval(watch);
    if (health.ready || this.ending) return;
    const { failing } = this.supervisor;
    if (failing) throw new StartError(`${failing} does not stay up; its last lines above say why.`);
    throw new StartError(`Not ready after ${READY_TIMEOUT_MS / 1000} s: ${health.detail}.`);
  }

  private async greet(firstStart: boolean): Promise<void> {
    const welcome = readWelcome(this.settings.DATA_DIR);
    print(firstStart && welcome ? await welcomeText(this.settings, welcome) : shortWelcome(this.settings, welcome));
    note('press Ctrl-C to stop');
  }

  /** Stops everything and exits with `code`; asked a second time, stops at once. */
  end(code: number): Promise<void> {
    this.ended.abort();
    if (this.ending) {
      if (performance.now() - this.endingSince < ONE_CTRL_C_MS) return this.ending;
      note('stopping at once …');
      return this.supervisor.stopNow();
    }
    if (this.supervisor.busy) note('stopping … (Ctrl-C again stops at once)');
    this.endingSince = performance.now();
    this.ending = this.stopInOrder(code);
    return this.ending;
  }

  /** A failure: told, unless it only says that what is being stopped is gone. */
  async failed(error: unknown): Promise<void> {
    if (this.ending) return this.ending;
    tell(error);
    return this.end(1);
  }

  private async stopInOrder(code: number): Promise<void> {
    const busy = this.supervisor.busy;
    await this.supervisor.stop();
    if (this.unlock) removeRunFile(this.settings.DATA_DIR);
    this.unlock?.();
    if (busy) note('everything is stopped');
    process.exit(code);
  }
}

const tell = (error: unknown): void => {
  const text =
    error instanceof StartError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`\n${text}\n`);
};

const main = async (): Promise<void> => {
  let start: Start | undefined;
  try {
    start = new Start(readSettings(process.env));
    await start.run();
  } catch (error) {
    if (start) return start.failed(error);
    tell(error);
    process.exit(1);
  }
};

process.on('uncaughtException', error => {
  tell(error);
  process.exit(1); // the kernel ends the children with us
});

await main();

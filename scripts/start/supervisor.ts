import type { Settings } from './config.ts';
import { readableLine } from './log-lines.ts';
import { Kept, type Running } from './kept.ts';
import { markOf } from './processes.ts';
import { startPostgres } from './postgres.ts';
import { startRedis } from './redis.ts';
import { writeRunFile } from './run-file.ts';
import {
  environments,
  newEngineAccess,
  PROCESS_NAMES,
  startProcess,
  type EngineAccess,
  type ProcessName,
} from './system.ts';

export interface SupervisorOptions {
  settings: Settings;
  /** One line for the operator. */
  print: (line: string) => void;
  /** What the supervisor itself has to say. */
  note: (text: string) => void;
}

/** First those that hold calls, then the API, which still writes down how they ended, then what both stand on. */
const STOP_ORDER = ['media-app', 'control-api', 'engine', 'redis', 'postgres'];

/** Questions after health come from us and from load balancers, several a second: no news for people. */
const OWN_QUESTIONS = /^\{"level":30,.*"msg":"GET \/health"/;

interface Remembered {
  port: number;
  password?: string;
}

/** Starts stores and processes, keeps them running, and stops them in the right order. */
export class Supervisor {
  private readonly options: SupervisorOptions;
  private readonly kept = new Map<string, Kept>();
  private readonly ports: Record<string, number> = {};
  private stopped = false;

  constructor(options: SupervisorOptions) {
    this.options = options;
  }

  /** Starts everything; resolves when the processes run (being well is what GET /health says). */
  async start(): Promise<void> {
    const { settings } = this.options;
    const [databaseUrl, redisUrl, engine] = await Promise.all([
      settings.DATABASE_URL ?? this.startDatabase(),
      settings.REDIS_URL ?? this.startStore(),
      settings.SIP_SERVERS === undefined ? newEngineAccess() : undefined,
    ]);
    if (engine) this.rememberPorts(engine);
    const given = environments(settings, { databaseUrl, redisUrl, engine });
    for (const name of PROCESS_NAMES) await this.startOne(name, given[name]);
  }

  private rememberPorts({ adminPort, eventSocketPort, mediaSipPort }: EngineAccess): void {
    Object.assign(this.ports, {
      engine_admin: adminPort,
      engine_event_socket: eventSocketPort,
      engine_media_sip: mediaSipPort,
    });
  }

  private async startOne(name: ProcessName, environment: Record<string, string> | undefined): Promise<void> {
    if (!environment || this.stopped) return;
    await this.keep(name, () => Promise.resolve(startProcess(name, environment, this.lineOf(name))));
  }

  /** A store keeps its port and password when it is started again, or nobody would find it. */
  private async startDatabase(): Promise<string> {
    let url = '';
    let port: number | undefined;
    await this.keep('postgres', async () => {
      const running = await startPostgres({ dataDir: this.options.settings.DATA_DIR, port, note: this.options.note });
      ({ url, port } = running);
      this.ports['postgres'] = running.port;
      return running;
    });
    return url;
  }

  private async startStore(): Promise<string> {
    let url = '';
    let last: Partial<Remembered> = {};
    await this.keep('redis', async () => {
      const running = await startRedis({ dataDir: this.options.settings.DATA_DIR, ...last, note: this.options.note });
      ({ url } = running);
      last = { port: running.port, password: running.password };
      this.ports['redis'] = running.port;
      return running;
    });
    return url;
  }

  private async keep(name: string, start: () => Promise<Running>): Promise<void> {
    const kept = new Kept(name, start, { note: this.options.note, changed: () => this.writeDown() });
    this.kept.set(name, kept);
    await kept.begin();
    if (this.stopped) await kept.kill();
  }

  private lineOf(name: string): (line: string) => void {
    return line => {
      if (!OWN_QUESTIONS.test(line)) this.options.print(readableLine(name, line, process.stdout.isTTY));
    };
  }

  private writeDown(): void {
    const processes = Object.fromEntries(
      [...this.kept.values()].flatMap(kept => (kept.pid === undefined ? [] : [[kept.name, markOf(kept.pid)]])),
    );
    writeRunFile(this.options.settings.DATA_DIR, { processes, ports: this.ports });
  }

  /** A process that died several times in a row: before the first health, a reason to give up. */
  get failing(): string | undefined {
    return [...this.kept.values()].find(kept => kept.failures >= 4)?.name;
  }

  /** True when there is something to stop. */
  get busy(): boolean {
    return this.kept.size > 0;
  }

  /** Stops everything in order, each in its own time. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const name of STOP_ORDER) await this.kept.get(name)?.stop();
  }

  /** Stops at once: our processes by SIGKILL, the stores still in order, because they hold what must not be lost. */
  async stopNow(): Promise<void> {
    this.stopped = true;
    await Promise.all(PROCESS_NAMES.map(async name => this.kept.get(name)?.kill()));
    await Promise.all(['redis', 'postgres'].map(async name => this.kept.get(name)?.stop()));
  }
}

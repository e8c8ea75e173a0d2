import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { isRunning } from './processes.ts';

/** What to run and how it dies. */
export interface ChildOptions {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** Written to its standard input, which is then closed. */
  input?: string;
  /** The signal that ends it in order, and the one it gets from the kernel when we are killed. */
  stopSignal: NodeJS.Signals;
  /** One line of its output. */
  onLine?: (line: string) => void;
}

let setpriv: boolean | undefined;

/** True where util-linux can tie a child's life to ours, so that even a kill -9 of the supervisor leaves nothing running. */
const canTieLife = (): boolean =>
  (setpriv ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'keep', 'true']).status === 0);

/** A child process in a session of its own: Ctrl-C reaches us alone, and we stop our children in the right order. */
export class Child {
  readonly process: ChildProcess;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  private readonly stopSignal: NodeJS.Signals;

  constructor(options: ChildOptions) {
    const tie = canTieLife() ? ['setpriv', '--pdeathsig', options.stopSignal.replace('SIG', '')] : [];
    const [command = '', ...args] = [...tie, options.command, ...options.args];
    this.stopSignal = options.stopSignal;
    this.process = spawn(command, args, {
      env: options.env ?? process.env,
      cwd: options.cwd,
      uid: options.uid,
      gid: options.gid,
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.exited = new Promise(resolve => {
      this.process.once('error', () => resolve({ code: 127, signal: null }));
      this.process.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.process.stdin?.on('error', () => undefined); // it died before reading: `exited` says so
    this.process.stdin?.end(options.input);
    this.readLines(options.onLine ?? (() => undefined));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get running(): boolean {
    return this.process.pid !== undefined && this.process.exitCode === null && this.process.signalCode === null;
  }

  private readLines(onLine: (line: string) => void): void {
    for (const stream of [this.process.stdout, this.process.stderr]) {
      if (stream)
        createInterface({ input: stream, crlfDelay: Infinity }).on('line', line => line.trim() && onLine(line));
    }
  }

  /** Ends it with its own signal, and after `timeoutMs` with SIGKILL. Resolves when it is gone. */
  async stop(timeoutMs = 10_000): Promise<void> {
    if (!this.running) return;
    this.process.kill(this.stopSignal);
    const abort = new AbortController();
    const patience = wait(timeoutMs, 'late', { signal: abort.signal }).catch(() => 'aborted');
    const first = await Promise.race([this.exited, patience]);
    abort.abort();
    if (first === 'late') await this.kill();
  }

  /** SIGKILL, at once. Resolves when it is gone. */
  async kill(): Promise<void> {
    if (!this.running) return;
    this.process.kill('SIGKILL');
    await this.exited;
  }

  /** Starts a child and resolves when `ready` says so of a line; rejects with its last lines when it ends or is too slow. */
  static async startUntil(options: ChildOptions, ready: (line: string) => boolean, timeoutMs: number): Promise<Child> {
    const lines: string[] = [];
    const abort = new AbortController();
    let becomeReady: (outcome: 'ready') => void = () => undefined;
    const isReady = new Promise<'ready'>(resolve => (becomeReady = resolve));
    const onLine = (line: string): void => {
      options.onLine?.(line);
      if (lines.push(line) > 20) lines.shift();
      if (ready(line)) becomeReady('ready');
    };
    const child = new Child({ ...options, onLine });
    const late = wait(timeoutMs, 'late' as const, { signal: abort.signal }).catch(() => 'late' as const);
    const outcome = await Promise.race([isReady, late, child.exited.then(() => 'ended' as const)]);
    abort.abort();
    if (outcome === 'ready') return child;
    await child.kill();
    const why = outcome === 'late' ? 'was not ready in time' : 'ended at once';
    throw new Error(`${options.command} ${why}: ${lines.slice(-6).join(' | ')}`);
  }
}

/** True while any of these processes runs; what a test asks after stopping. */
export const anyRunning = (pids: number[]): number[] => pids.filter(isRunning);

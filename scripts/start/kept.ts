import { setTimeout as wait } from 'node:timers/promises';

/** A running process, ours or a store's. */
export interface Running {
  readonly pid: number;
  /** Resolves when it ended, wanted or not. */
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** How long to wait before the n-th start in a row (from 1), in milliseconds. */
export const backOff = (failures: number): number => Math.min(250 * 2 ** (failures - 1), 10_000);

/** A process that lived this long failed for a new reason: the back-off begins anew. */
const HEALTHY_MS = 30_000;

/** Keeps one process running: starts it again when it dies, ever slower while it keeps dying, and says so. */
export class Kept {
  readonly name: string;
  /** How often it died in a row. */
  failures = 0;
  private readonly start: () => Promise<Running>;
  private readonly note: (text: string) => void;
  private readonly changed: () => void;
  private readonly stopping = new AbortController();
  private running: Running | undefined;
  private watching: Promise<void> = Promise.resolve();

  constructor(
    name: string,
    start: () => Promise<Running>,
    events: { note: (text: string) => void; changed: () => void },
  ) {
    this.name = name;
    this.start = start;
    this.note = events.note;
    this.changed = events.changed;
  }

  get pid(): number | undefined {
    return this.running?.pid;
  }

  /** The first start; rejects when it fails. */
  async begin(): Promise<void> {
    this.running = await this.start();
    this.changed();
    this.watching = this.watch();
  }

  private async watch(): Promise<void> {
    for (let since = performance.now(); !this.stopping.signal.aborted; since = performance.now()) {
      const how = await this.running?.exited;
      if (this.stopping.signal.aborted) return;
      this.failures = performance.now() - since > HEALTHY_MS ? 1 : this.failures + 1;
      const delay = backOff(this.failures);
      this.note(
        `${this.name} ended${describeEnd(how)}; starting it again${delay > 1_000 ? ` in ${delay / 1_000} s` : ''}`,
      );
      this.running = undefined;
      this.changed();
      await wait(delay, undefined, { signal: this.stopping.signal }).catch(() => undefined); // woken to stop
      await this.again();
    }
  }

  private async again(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    try {
      this.running = await this.start();
      this.changed();
      if (this.stopping.signal.aborted) await this.running.stop();
    } catch (error) {
      this.note(`${this.name} could not be started: ${(error as Error).message}`);
    }
  }

  /** Stops it in order and starts it no more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running?.stop();
    await this.watching;
  }

  /** SIGKILL, at once, and no new start. */
  async kill(): Promise<void> {
    this.stopping.abort();
    await this.running?.kill();
    await this.watching;
  }
}

const describeEnd = (how: unknown): string => {
  const { code, signal } = (how ?? {}) as { code?: number | null; signal?: string | null };
  if (signal) return ` (signal ${signal})`;
  return typeof code === 'number' ? ` (exit code ${code})` : '';
};

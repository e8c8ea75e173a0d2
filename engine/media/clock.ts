/** Length of one tick, in milliseconds. */
export const tickMs = 20;
/** Frames in a second. A frame is always 20 ms, so its length tells its rate. */
export const framesPerSecond = 1000 / tickMs;
/** Samples per second of narrowband sound, which G.711 carries, and of one frame of it. */
export const sampleRate = 8000;
export const frameSamples = sampleRate / framesPerSecond;
/** Samples per second of wideband sound, which is what G.722 and Opus have inside the media server. */
export const wideRate = 16_000;

const maxCatchUp = 25;
const earlyMs = 0.5;

/** What a clock has measured since it was made. */
export interface ClockStats {
  /** Ticks given to subscribers. */
  ticks: number;
  /** Ticks left out because the process stood still for longer than can be caught up. */
  skipped: number;
  /** Milliseconds between a tick's due time and its start: the mean, the worst, and the share of ticks late by 5 ms. */
  mean_late_ms: number;
  max_late_ms: number;
  late_share: number;
  subscribers: number;
}

/**
 * The 20 ms beat of the process. Ticks are due at fixed distances from the first one, so timer errors do not add up.
 * After a stall up to 25 ticks (half a second) are made up for at once, older ones are skipped. A tick comes after the
 * packets that are there already have been read. Runs only while somebody subscribes.
 */
export class MediaClock {
  #subscribers: readonly (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #turn: NodeJS.Immediate | null = null;
  #dueAt = 0;
  #ticks = 0;
  #skipped = 0;
  #lateSum = 0;
  #lateMax = 0;
  #lateCount = 0;
  readonly #onError: (error: unknown) => void;

  /** `onError` gets what a subscriber throws; the other subscribers go on. */
  constructor(onError: (error: unknown) => void = warn) {
    this.#onError = onError;
  }

  /** Number of the current tick; grows by one per tick for as long as the clock exists. */
  get now(): number {
    return this.#ticks;
  }

  /** Calls `tick` every 20 ms until the returned function is called. */
  subscribe(tick: () => void): () => void {
    const entry = (): void => tick();
    this.#subscribers = [...this.#subscribers, entry];
    if (!this.#timer) this.#start();
    return () => {
      this.#subscribers = this.#subscribers.filter(one => one !== entry);
      if (this.#subscribers.length === 0) this.#stop();
    };
  }

  /** What has been measured so far. */
  stats(): ClockStats {
    const ticks = Math.max(1, this.#ticks);
    return {
      ticks: this.#ticks,
      skipped: this.#skipped,
      mean_late_ms: this.#lateSum / ticks,
      max_late_ms: this.#lateMax,
      late_share: this.#lateCount / ticks,
      subscribers: this.#subscribers.length,
    };
  }

  #start(): void {
    this.#dueAt = performance.now() + tickMs;
    this.#schedule();
  }

  #stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#turn) clearImmediate(this.#turn);
    this.#timer = this.#turn = null;
  }

  /** Immediates run after the sockets were read: what came during a stall is heard, not taken for lost. */
  #schedule(): void {
    const wait = Math.max(1, Math.round(this.#dueAt - performance.now()));
    this.#timer = setTimeout(() => {
      this.#turn = setImmediate(() => this.#fire());
    }, wait);
  }

  #fire(): void {
    while (this.#subscribers.length > 0 && performance.now() >= this.#dueAt - earlyMs) {
      this.#skipAncient(performance.now());
      this.#tick();
    }
    if (this.#subscribers.length > 0) this.#schedule();
  }

  #skipAncient(now: number): void {
    const behind = Math.floor((now - this.#dueAt) / tickMs) - maxCatchUp;
    if (behind <= 0) return;
    this.#skipped += behind;
    this.#dueAt += behind * tickMs;
  }

  #tick(): void {
    this.#measure(performance.now() - this.#dueAt);
    this.#dueAt += tickMs;
    this.#ticks += 1;
    for (const subscriber of this.#subscribers) {
      try {
        subscriber();
      } catch (error) {
        this.#onError(error); // one broken party must not silence all others
      }
    }
  }

  #measure(late: number): void {
    const ms = Math.max(0, late);
    this.#lateSum += ms;
    if (ms > this.#lateMax) this.#lateMax = ms;
    if (ms >= 5) this.#lateCount += 1;
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

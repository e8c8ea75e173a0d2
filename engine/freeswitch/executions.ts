import type { FrameSource } from '../media/audio-leg.ts';

/** One application to run on a channel, as a `sendmsg` asks for it. */
export interface ExecuteRequest {
  application: string;
  data: string;
  /** Echoed as Application-UUID; the client waits for it. */
  uuid: string;
  loops: number;
  /** Makes the following requests wait until this one is done. */
  lock: boolean;
}

/** Why a wait of an application ended. */
export type WaitEnd = 'done' | 'break' | 'hangup';

/** What the stack needs from its channel. */
export interface ExecutionPort {
  /** Runs the application and gives its Application-Response; one that is done at once gives it at once. */
  run(level: ExecutionLevel): string | Promise<string>;
  /** What the caller hears now. */
  listenTo(source: FrameSource | null): void;
  started(request: ExecuteRequest): void;
  completed(request: ExecuteRequest, response: string): void;
}

const maxDepth = 64;
const maxQueued = 512;
const stuckMs = 1000;

/** The client must get its completion all the same. */
const failed = (error: unknown): string => `-ERR ${error instanceof Error ? error.message : 'application failed'}`;

/**
 * The applications of one channel. They nest: a request that arrives while an application runs is run on top of it, the
 * lower one is silent meanwhile and goes on afterwards, so completions come in reverse order (protocol page §6).
 */
export class ExecutionStack {
  readonly #port: ExecutionPort;
  readonly #levels: ExecutionLevel[] = [];
  readonly #queue: ExecuteRequest[] = [];
  #ended = false;
  #drained: (() => void) | null = null;

  constructor(port: ExecutionPort) {
    this.#port = port;
  }

  /** Number of applications running or waiting. */
  get size(): number {
    return this.#levels.length + this.#queue.length;
  }

  /** True for the level whose application has the caller's ear. */
  isTop(level: ExecutionLevel): boolean {
    return this.#levels.at(-1) === level;
  }

  /** Takes a request. It starts at once unless a locked one is running. False when the channel has too many. */
  submit(request: ExecuteRequest): boolean {
    if (this.#ended) this.#port.completed(request, '-ERR channel has hung up');
    else if (this.#levels.some(level => level.request.lock)) {
      if (this.#queue.length >= maxQueued) return false;
      this.#queue.push(request);
    } else {
      if (this.#levels.length >= maxDepth) return false;
      this.#start(request);
    }
    return true;
  }

  /** Ends what the top application is doing; with `all` a whole list, and requests that still wait are given up. */
  breakTop(all: boolean, above?: ExecutionLevel): void {
    const index = above ? this.#levels.indexOf(above) - 1 : this.#levels.length - 1;
    this.#levels[index]?.interrupt('break', all);
    if (all) for (const request of this.#queue.splice(0)) this.#port.completed(request, '-ERR flushed');
  }

  /** Ends what the caller is listening to, with the rest of its list; an application that plays nothing goes on. */
  breakPlayback(): void {
    const top = this.#levels.at(-1);
    if (top?.voice) top.interrupt('break', true);
  }

  /** Ends every application, as a bridge or a transfer does; the channel lives on. */
  breakEverything(): void {
    for (const level of [...this.#levels].reverse()) {
      level.dismissed = true;
      level.interrupt('break', true);
    }
  }

  /** Offers a key press to the application that has the caller's ear. */
  digit(digit: string): void {
    this.#levels.at(-1)?.onDigit?.(digit);
  }

  /**
   * The channel has hung up: every application ends. Resolves when each has had its completion, and after a second at
   * the latest, because a completion must not be withheld by an application that hangs.
   */
  async end(): Promise<void> {
    this.#ended = true;
    for (const level of [...this.#levels].reverse()) level.interrupt('hangup', true);
    for (const request of this.#queue.splice(0)) this.#port.completed(request, '-ERR channel has hung up');
    if (this.#levels.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>(resolve => {
      this.#drained = resolve;
      timer = setTimeout(resolve, stuckMs);
    });
    clearTimeout(timer);
    for (const level of this.#levels.splice(0).reverse())
      this.#port.completed(level.request, '-ERR channel has hung up');
  }

  /** Called by a level when what it plays has changed. */
  refresh(): void {
    this.#port.listenTo(this.#levels.at(-1)?.voice ?? null);
  }

  #start(request: ExecuteRequest): void {
    const level = new ExecutionLevel(this, request);
    this.#levels.push(level);
    this.#port.started(request);
    this.refresh();
    const response = this.#run(level);
    if (typeof response === 'string') this.#finish(level, response);
    else void this.#finishLater(level, response);
  }

  #run(level: ExecutionLevel): string | Promise<string> {
    try {
      return this.#port.run(level);
    } catch (error) {
      return failed(error);
    }
  }

  async #finishLater(level: ExecutionLevel, running: Promise<string>): Promise<void> {
    const response = await running.catch(failed);
    await level.whenTop();
    this.#finish(level, response);
  }

  #finish(level: ExecutionLevel, response: string): void {
    if (!this.isTop(level)) return; // end() has completed it already
    this.#levels.pop();
    this.refresh();
    this.#port.completed(level.request, response);
    this.#levels.at(-1)?.reachedTop();
    if (this.#levels.length === 0) this.#drained?.();
    while (this.#queue.length > 0 && !this.#levels.some(one => one.request.lock))
      this.#start(this.#queue.shift() as ExecuteRequest);
  }
}

/** One running application: its hold on the caller's ear, its keys and its waiting. */
export class ExecutionLevel {
  readonly request: ExecuteRequest;
  /** Gets the keys pressed while this application is on top. */
  onDigit: ((digit: string) => void) | null = null;
  /** True after a break that asked for everything to end. */
  breakAll = false;
  /** True when the application must end because the channel is taken elsewhere, by a bridge or a transfer. */
  dismissed = false;
  /** Set once the channel has hung up. */
  hungUp = false;
  /** What the caller hears while this level is on top. */
  voice: FrameSource | null = null;
  readonly #stack: ExecutionStack;
  #interrupt: ((end: WaitEnd) => void) | null = null;
  #pending: WaitEnd | null = null;
  #onTop: (() => void) | null = null;

  constructor(stack: ExecutionStack, request: ExecuteRequest) {
    this.#stack = stack;
    this.request = request;
  }

  /**
   * Waits for something that can be interrupted by a break or the hang-up. `begin` gets the function that ends the wait
   * and gives one that cleans up.
   */
  wait(begin: (done: (end: WaitEnd) => void) => () => void): Promise<WaitEnd> {
    if (this.hungUp) return Promise.resolve('hangup');
    return new Promise(resolve => {
      let cleanUp: (() => void) | null = null;
      let ended = false;
      const done = (end: WaitEnd): void => {
        if (ended) return;
        ended = true;
        this.#interrupt = null;
        cleanUp?.();
        resolve(end);
      };
      this.#interrupt = done;
      cleanUp = begin(done);
      if (ended) cleanUp();
      else if (this.#pending) done(this.#takePending());
    });
  }

  /** Lets the caller hear a source to its end. `stop` may end it early with the outcome of a break. */
  play(source: FrameSource, onStart?: (stop: () => void) => void): Promise<WaitEnd> {
    return this.wait(done => {
      this.voice = { read: frame => source.read(frame) || this.#finished(done) };
      this.#stack.refresh();
      onStart?.(() => done('done'));
      return () => {
        this.voice = null;
        this.#stack.refresh();
      };
    });
  }

  /** Waits this long. */
  sleep(ms: number): Promise<WaitEnd> {
    return this.wait(done => {
      const timer = setTimeout(() => done('done'), ms);
      return () => clearTimeout(timer);
    });
  }

  /** Ends the current wait; without one, the next wait ends at once. */
  interrupt(end: 'break' | 'hangup', all: boolean): void {
    if (end === 'hangup') this.hungUp = true;
    this.breakAll ||= all;
    if (this.#interrupt) this.#interrupt(end);
    else this.#pending = end;
  }

  /** Resolves once nothing is running on top of this application. */
  whenTop(): Promise<void> {
    if (this.#stack.isTop(this) || this.#stack.size === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.#onTop = resolve;
    });
  }

  /** Told by the stack that what ran on top is gone. */
  reachedTop(): void {
    this.#onTop?.();
    this.#onTop = null;
  }

  #takePending(): WaitEnd {
    const end = this.#pending ?? 'done';
    this.#pending = null;
    return end;
  }

  /** Not inside the clock's tick: the application may want to play something else at once. */
  #finished(done: (end: WaitEnd) => void): boolean {
    queueMicrotask(() => done('done'));
    return false;
  }
}

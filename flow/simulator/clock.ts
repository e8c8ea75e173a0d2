import type { Clock } from '../action.ts';

interface Due {
  at: number;
  fire: () => void;
}

/** A clock that stands still until somebody moves it to the next thing that is due. Times in milliseconds. */
export class VirtualClock implements Clock {
  readonly #start: number;
  #elapsed = 0;
  #due: Due[] = [];

  constructor(start: Date) {
    this.#start = start.getTime();
  }

  now(): Date {
    return new Date(this.#start + this.#elapsed);
  }

  /** Virtual time since the start. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** Does something at a moment after the start, or as soon as time moves when the moment has passed. */
  at(ms: number, fire: () => void): void {
    this.#due.push({ at: ms, fire });
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const due: Due = { at: this.#elapsed + ms, fire: () => (signal.removeEventListener('abort', give), resolve()) };
      const give = (): void => {
        this.#due = this.#due.filter(other => other !== due);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', give, { once: true });
      this.#due.push(due);
    });
  }

  /** When the next thing is due; undefined when nothing is. */
  get next(): number | undefined {
    return this.#first()?.at;
  }

  /** Moves to the next thing that is due and does it; what was asked for first comes first. False when nothing is. */
  advance(): boolean {
    const first = this.#first();
    if (!first) return false;
    this.#due = this.#due.filter(other => other !== first);
    this.moveTo(first.at);
    first.fire();
    return true;
  }

  /** Lets time pass without doing anything; never backward. */
  moveTo(ms: number): void {
    this.#elapsed = Math.max(this.#elapsed, ms);
  }

  #first(): Due | undefined {
    return this.#due.reduce<Due | undefined>((least, due) => (least && least.at <= due.at ? least : due), undefined);
  }
}

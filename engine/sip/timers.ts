/** The three times every SIP timer is made of, in milliseconds (RFC 3261 table 4). Tests shrink them. */
export interface SipTimers {
  T1: number;
  T2: number;
  T4: number;
}

export const defaultTimers: SipTimers = { T1: 500, T2: 4000, T4: 5000 };

/** Node lets a timer that is set longer ring at once. */
export const LONGEST_MS = 2 ** 31 - 1;

/** Named timers of one owner, so that all of them can be stopped at once. */
export class Alarms {
  readonly #running = new Map<string, NodeJS.Timeout>();

  /** Rings once, after so many milliseconds, 25 days at most. What was set under that name before rings no more. */
  set(name: string, ms: number, ring: () => void): void {
    clearTimeout(this.#running.get(name));
    const fire = (): void => {
      this.#running.delete(name);
      ring();
    };
    this.#running.set(name, setTimeout(fire, Math.min(ms, LONGEST_MS)));
  }

  /** These ring no more. */
  clear(...names: string[]): void {
    for (const name of names) {
      clearTimeout(this.#running.get(name));
      this.#running.delete(name);
    }
  }

  clearAll(): void {
    for (const timer of this.#running.values()) clearTimeout(timer);
    this.#running.clear();
  }
}

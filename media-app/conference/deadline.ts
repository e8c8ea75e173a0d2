/** The longest a timer of Node can run; a later moment takes several. Milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/** Rings once, after any number of seconds; setting it anew replaces what was set. */
export class Deadline {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | undefined;
  #at = 0;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** When it will ring, in milliseconds since the epoch; 0: never. */
  get at(): number {
    return this.#at;
  }

  /** Rings in so many seconds from now; 0: never. */
  set(seconds: number): void {
    this.until(seconds > 0 ? Date.now() + seconds * 1000 : 0);
  }

  /** Rings at a moment, at once when it has passed; 0: never. */
  until(moment: number): void {
    clearTimeout(this.#timer);
    this.#at = moment;
    if (moment > 0) this.#wait(moment);
  }

  #wait(until: number): void {
    const left = until - Date.now();
    this.#timer = setTimeout(
      () => (left > LONGEST_MS ? this.#wait(until) : this.#ring()),
      Math.min(Math.max(left, 0), LONGEST_MS),
    );
  }
}

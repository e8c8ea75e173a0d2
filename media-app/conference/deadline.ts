/** The longest a timer of Node can run; a later moment takes several. Milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/** Rings once, after any number of seconds; setting it anew replaces what was set. */
export class Deadline {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings in so many seconds from now; 0: never. */
  set(seconds: number): void {
    clearTimeout(this.#timer);
    if (seconds > 0) this.#wait(Date.now() + seconds * 1000);
  }

  #wait(until: number): void {
    const left = until - Date.now();
    this.#timer = setTimeout(() => (left > LONGEST_MS ? this.#wait(until) : this.#ring()), Math.min(left, LONGEST_MS));
  }
}

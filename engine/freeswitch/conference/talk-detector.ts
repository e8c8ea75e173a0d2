const clearlyAbove = 400;
const framesToStart = 5;
const framesToStop = 40;

/** Default energy that counts as talking: mean of the absolute samples of 20 ms. */
export const defaultEnergy = 100;

/**
 * Tells when a party begins and stops talking. Loud speech counts at once, faint speech after 100 ms, and 800 ms of quiet
 * end it, so that pauses between words do not.
 */
export class TalkDetector {
  /** Levels above this one count as talking. */
  energy = defaultEnergy;
  talking = false;
  #loud = 0;
  #quiet = 0;

  /** Takes the level of the next 20 ms; gives what has changed. */
  push(level: number): 'start' | 'stop' | null {
    return level > this.energy ? this.#hearLoud(level) : this.#hearQuiet();
  }

  /** Forgets what it heard, as for a party that was muted. */
  reset(): void {
    this.talking = false;
    this.#loud = 0;
    this.#quiet = 0;
  }

  #hearLoud(level: number): 'start' | null {
    this.#quiet = 0;
    this.#loud += 1;
    if (this.talking || (level - this.energy < clearlyAbove && this.#loud < framesToStart)) return null;
    this.talking = true;
    return 'start';
  }

  #hearQuiet(): 'stop' | null {
    this.#loud = 0;
    if (!this.talking) return null;
    this.#quiet += 1;
    if (this.#quiet < framesToStop) return null;
    this.reset();
    return 'stop';
  }
}

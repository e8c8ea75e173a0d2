const size = 128;

/** Remembers which of the last 128 packets of a stream have come (RFC 3711 section 3.3.2). */
export class ReplayWindow {
  /** The highest index so far, -1 before the first. */
  highest = -1;
  /** When a packet last proved authentic, in any growing number. */
  usedAt = 0;
  readonly #seen = new Float64Array(size).fill(-1);

  /** True for an index that has not come yet and is not too old to tell. */
  isNew(index: number): boolean {
    return index >= 0 && index > this.highest - size && this.#seen[index % size] !== index;
  }

  /** Counts a packet that has proved authentic. */
  mark(index: number): void {
    this.#seen[index % size] = index;
    if (index > this.highest) this.highest = index;
  }
}

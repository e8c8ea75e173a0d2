import type { FrameSource } from '../audio-leg.ts';

/** Plays a source again and again: the next round is opened while the present one plays, so that there is no gap. */
export class LoopingSource implements FrameSource {
  readonly #open: () => Promise<FrameSource>;
  #current: FrameSource;
  #next: FrameSource | undefined;
  #broken = false;

  constructor(first: FrameSource, open: () => Promise<FrameSource>) {
    this.#current = first;
    this.#open = open;
    this.#prepare();
  }

  /** False only when the source could not be opened again. */
  read(frame: Int16Array): boolean {
    if (this.#current.read(frame)) return true;
    frame.fill(0);
    if (!this.#next) return !this.#broken;
    this.#current = this.#next;
    this.#next = undefined;
    this.#prepare();
    return this.#current.read(frame) || !this.#broken;
  }

  #prepare(): void {
    this.#open().then(
      source => (this.#next = source),
      () => (this.#broken = true), // what was playing is heard to its end
    );
  }
}

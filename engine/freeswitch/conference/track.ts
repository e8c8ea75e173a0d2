import type { FrameSource } from '../../media/audio-leg.ts';

/** A sound that can be paused, and be heard on from another place. */
export class Track implements FrameSource {
  /** Silent, and standing still. */
  paused = false;
  #source: FrameSource;

  constructor(source: FrameSource) {
    this.#source = source;
  }

  get position(): number | undefined {
    return this.#source.position;
  }

  get rate(): number | undefined {
    return this.#source.rate;
  }

  read(frame: Int16Array): boolean {
    if (!this.paused) return this.#source.read(frame);
    frame.fill(0);
    return true;
  }

  /** Goes on with the same sound, opened anew elsewhere in it. */
  goOnWith(source: FrameSource): void {
    this.#source = source;
  }
}

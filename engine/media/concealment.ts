import { framesPerSecond, sampleRate } from './clock.ts';

/** A period of speech: 66 to 200 Hz, in ms. */
const periodMs = { least: 5, most: 15 };
/** What is made up, in ms, before it begins to fade, and when it is silent. */
const fadeMs = { from: 10, until: 60 };
/** Over which real sound takes over from made up sound again. */
const takeoverMs = 4;
/** Frames that are remembered. */
const keptFrames = 2;

/**
 * Covers what is missing by going on as before: the last period of what was heard is repeated, fades after 10 ms and is silent
 * after 60 (ITU-T G.711 Appendix I).
 */
export class Concealment {
  readonly #frame: number;
  readonly #kept: number;
  readonly #least: number;
  readonly #most: number;
  readonly #fadesFrom: number;
  readonly #silentFrom: number;
  readonly #takeover: number;
  readonly #history: Int16Array;
  readonly #period: Float32Array;
  #length = 0;
  #made = 0;
  #heard = false;

  /** For frames of this rate. */
  constructor(rate = sampleRate) {
    const perMs = rate / 1000;
    this.#frame = rate / framesPerSecond;
    this.#kept = keptFrames * this.#frame;
    this.#least = periodMs.least * perMs;
    this.#most = periodMs.most * perMs;
    this.#fadesFrom = fadeMs.from * perMs;
    this.#silentFrom = fadeMs.until * perMs;
    this.#takeover = takeoverMs * perMs;
    this.#history = new Int16Array(this.#kept);
    this.#period = new Float32Array(this.#most);
  }

  /** Frames made up in a row, until it is silent. */
  get run(): number {
    return this.#made / this.#frame;
  }

  /** Takes a whole frame that came; its beginning passes over from what was made up before it. */
  heard(frame: Int16Array): void {
    if (this.#made > 0 && this.#heard) this.#takeOver(frame);
    this.#made = 0;
    this.#heard = true;
    this.#history.copyWithin(0, this.#frame);
    this.#history.set(frame, this.#kept - this.#frame);
  }

  /** Makes up a frame; false, with silence, when too much is missing to go on. */
  makeUp(frame: Int16Array): boolean {
    if (!this.#heard || this.#made >= this.#silentFrom) {
      frame.fill(0);
      return false;
    }
    if (this.#made === 0) this.#cut();
    for (let i = 0; i < this.#frame; i++) frame[i] = this.#sample(this.#made + i);
    this.#made += this.#frame;
    return true;
  }

  #takeOver(frame: Int16Array): void {
    if (this.#made >= this.#silentFrom) return;
    for (let i = 0; i < this.#takeover; i++) {
      const share = (i + 0.5) / this.#takeover;
      frame[i] = Math.round((frame[i] ?? 0) * share + this.#sample(this.#made + i) * (1 - share));
    }
  }

  #sample(at: number): number {
    const gain =
      at < this.#fadesFrom ? 1 : Math.max(0, 1 - (at - this.#fadesFrom) / (this.#silentFrom - this.#fadesFrom));
    return Math.round((this.#period[at % this.#length] ?? 0) * gain);
  }

  /** Cuts the last period out, its end passing over into what was before its beginning, so that it can be repeated. */
  #cut(): void {
    const history = this.#history;
    this.#length = this.#bestPeriod();
    const start = this.#kept - this.#length;
    const seam = this.#length >> 2;
    for (let i = 0; i < this.#length; i++) {
      const into = i - (this.#length - seam);
      const share = into < 0 ? 0 : (into + 0.5) / seam;
      const before = history[start - this.#length + i] ?? 0;
      this.#period[i] = (history[start + i] ?? 0) * (1 - share) + before * share;
    }
  }

  /** The distance at which the last 20 ms are most like what was before them. */
  #bestPeriod(): number {
    let [best, most] = [this.#most, -Infinity];
    for (let lag = this.#least; lag <= this.#most; lag++) {
      const likeness = this.#likeness(lag);
      if (likeness > most) [best, most] = [lag, likeness];
    }
    return best;
  }

  #likeness(lag: number): number {
    let [product, energy] = [0, 1];
    for (let i = this.#kept - this.#frame; i < this.#kept; i++) {
      const before = this.#history[i - lag] ?? 0;
      product += (this.#history[i] ?? 0) * before;
      energy += before * before;
    }
    return product / Math.sqrt(energy);
  }
}

import { frameSamples } from './clock.ts';

/** A period of speech: 66 to 200 Hz, in samples. */
const period = { least: 40, most: 120 };
/** Made up samples before they begin to fade, and when they are silent. */
const fade = { from: 80, until: 480 };
/** Over which real sound takes over from made up sound again: 4 ms. */
const takeover = 32;
const kept = 2 * frameSamples;

/**
 * Covers what is missing by going on as before: the last period of what was heard is repeated, fades after 10 ms and is silent
 * after 60 (ITU-T G.711 Appendix I).
 */
export class Concealment {
  readonly #history = new Int16Array(kept);
  readonly #period = new Float32Array(period.most);
  #length = 0;
  #made = 0;
  #heard = false;

  /** Frames made up in a row, until it is silent. */
  get run(): number {
    return this.#made / frameSamples;
  }

  /** Takes a whole frame that came; its beginning passes over from what was made up before it. */
  heard(frame: Int16Array): void {
    if (this.#made > 0 && this.#heard) this.#takeOver(frame);
    this.#made = 0;
    this.#heard = true;
    this.#history.copyWithin(0, frameSamples);
    this.#history.set(frame, kept - frameSamples);
  }

  /** Makes up a frame; false, with silence, when too much is missing to go on. */
  makeUp(frame: Int16Array): boolean {
    if (!this.#heard || this.#made >= fade.until) {
      frame.fill(0);
      return false;
    }
    if (this.#made === 0) this.#cut();
    for (let i = 0; i < frameSamples; i++) frame[i] = this.#sample(this.#made + i);
    this.#made += frameSamples;
    return true;
  }

  #takeOver(frame: Int16Array): void {
    if (this.#made >= fade.until) return;
    for (let i = 0; i < takeover; i++) {
      const share = (i + 0.5) / takeover;
      frame[i] = Math.round((frame[i] ?? 0) * share + this.#sample(this.#made + i) * (1 - share));
    }
  }

  #sample(at: number): number {
    const gain = at < fade.from ? 1 : Math.max(0, 1 - (at - fade.from) / (fade.until - fade.from));
    return Math.round((this.#period[at % this.#length] ?? 0) * gain);
  }

  /** Cuts the last period out, its end passing over into what was before its beginning, so that it can be repeated. */
  #cut(): void {
    const history = this.#history;
    this.#length = this.#bestPeriod();
    const start = kept - this.#length;
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
    let [best, most] = [period.most, -Infinity];
    for (let lag = period.least; lag <= period.most; lag++) {
      const likeness = this.#likeness(lag);
      if (likeness > most) [best, most] = [lag, likeness];
    }
    return best;
  }

  #likeness(lag: number): number {
    let [product, energy] = [0, 1];
    for (let i = kept - frameSamples; i < kept; i++) {
      const before = this.#history[i - lag] ?? 0;
      product += (this.#history[i] ?? 0) * before;
      energy += before * before;
    }
    return product / Math.sqrt(energy);
  }
}

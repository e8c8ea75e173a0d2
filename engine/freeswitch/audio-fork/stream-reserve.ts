import { tickMs } from '../../media/clock.ts';

/** What may wait on purpose, ms: a frame to play and one that may be late, or two once the stream ran dry. */
const reserve = { steady: 40, shaky: 60 };
/** More that comes so soon after the last sample was played came late; after a longer pause it is something new. */
const lateMs = 200;
/** Frames of one window: half a second. */
const windowFrames = 25;
/** Windows without running dry after which a shaky stream is steady again (never under a second), and what that grows to. */
const calmWindows = { least: 2, most: 32 };
/** What comes in a window of a live stream is as long as the window, give or take this. */
const paceMs = 40;
/** Far ends that keep so much ahead of the clock do it on purpose, unless a break of up to `owedMs` made it late. */
const aheadMs = 300;
const owedMs = 2000;
/** From this excess on something is left out, and only at every fourth frame, so that nobody hears it. */
const worthMs = 15;
const cutFrames = 4;

/**
 * Knows how much of a streamed voice has to wait, and how much of what waits is only delay.
 *
 * The least that waits at any beat of half a second was not needed in it. Beyond the reserve it is excess, if the stream is
 * *live*. The reserve is 40 ms, and 60 from when it runs dry in the middle of a sound until it did not for four seconds; these are
 * four times as many each time it does again, up to 16 s, and half as many after each calm stretch. Live is a stream when in that half second came half a second of sound, give or take 40 ms, and no more waits than 300 ms and
 * what a break of up to two seconds made late. A sound that is sent whole or faster than it is played, or in a stream that keeps
 * further ahead, is playback: nobody waits for its echo, and none of it is left out.
 */
export class StreamReserve {
  #ms = reserve.steady;
  #calm = calmWindows.least;
  #calmSince = 0;
  #dryMs = Infinity;
  #owed = 0;
  /** Undefined until the first beat: what came before it is no pace. */
  #window: { frames: number; arrived: number; least: number } | undefined;
  #excess = 0;

  /** What has to be there before the first is heard, ms. */
  get ms(): number {
    return this.#ms;
  }

  /** A beat in which nothing is there to be heard. */
  idle(): void {
    this.#dryMs += tickMs;
  }

  /** Something comes after nothing was there: late parts of a sound that broke off, or a new one. */
  resumes(): void {
    const late = this.#dryMs < lateMs;
    if (late) this.#calm = Math.min(calmWindows.most, this.#calm * 4);
    this.#ms = late ? reserve.shaky : reserve.steady;
    this.#calmSince = 0;
    this.#owed = this.#dryMs <= owedMs ? Math.min(owedMs, this.#owed + this.#dryMs) : 0;
    this.#dryMs = Infinity;
  }

  /** All was played. */
  ranDry(): void {
    this.#dryMs = 0;
    this.restart();
  }

  /** Forgets what was measured. */
  restart(): void {
    this.#window = undefined;
    this.#excess = 0;
  }

  arrives(ms: number): void {
    if (this.#window) this.#window.arrived += ms;
  }

  /** To be asked at every beat, before its frame is taken: how many of the `waiting` ms are too many, 0 for none. */
  excess(waiting: number): number {
    const window = (this.#window ??= { frames: 0, arrived: 0, least: Infinity });
    window.least = Math.min(window.least, waiting);
    if (++window.frames === windowFrames) this.#judge(window);
    return this.#excess >= worthMs && window.frames % cutFrames === 0 ? this.#excess : 0;
  }

  /** So many ms were left out. */
  cut(ms: number): void {
    this.#excess -= ms;
  }

  #judge({ arrived, least }: { arrived: number; least: number }): void {
    const live = Math.abs(arrived - windowFrames * tickMs) <= paceMs && least <= aheadMs + this.#owed;
    this.#window = { frames: 0, arrived: 0, least: Infinity };
    if (++this.#calmSince >= this.#calm) this.#settle();
    this.#excess = live ? least - this.#ms : 0;
  }

  #settle(): void {
    this.#calmSince = 0;
    this.#calm = Math.max(calmWindows.least, this.#calm / 2);
    this.#ms = reserve.steady;
  }
}

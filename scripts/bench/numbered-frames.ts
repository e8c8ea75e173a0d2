import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sound } from '../phone/sound.ts';

/** Frames of 20 ms are told apart by their tone: whole periods in a frame, so that none leaks into another's. */
const LOWEST_HZ = 300;
const STEP_HZ = 50;
const KINDS = 32;
const PEAK = 7300;
const FRAME = 160;
const LAST_MS = 2000;

const sines = Array.from({ length: KINDS }, (_, kind) =>
  Int16Array.from({ length: FRAME }, (__, at) =>
    Math.round(PEAK * Math.sin((2 * Math.PI * (LOWEST_HZ + STEP_HZ * kind) * at) / 8000)),
  ),
);

/** Power of one kind's tone in a frame (Goertzel). */
const powerOf = (samples: Int16Array, kind: number): number => {
  const turn = 2 * Math.cos((2 * Math.PI * (LOWEST_HZ + STEP_HZ * kind)) / 8000);
  let [before, last] = [0, 0];
  for (const sample of samples) [before, last] = [last, sample + turn * last - before];
  return (last * last + before * before - turn * last * before) / FRAME;
};

/** Which kind a frame is; undefined for one that is silent, or none of them whole. */
const kindOf = (samples: Int16Array): number | undefined => {
  if (samples.length !== FRAME) return undefined;
  const powers = sines.map((_, kind) => powerOf(samples, kind));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const kind = powers.indexOf(Math.max(...powers));
  return total > 1e6 && (powers[kind] ?? 0) > 0.8 * total ? kind : undefined;
};

/** A sound whose frames are numbered; a full turn of the numbers takes 640 ms. */
export class NumberedFrames implements Sound {
  /** Frames said so far. */
  count = 0;
  /** How often the speaker was over a frame behind the clock, and by how many milliseconds at most. */
  readonly stoodStill = { times: 0, most: 0 };
  #last = 0;

  fill(frame: Int16Array): boolean {
    const now = performance.now();
    const behind = this.#last > 0 ? now - this.#last - 20 : 0;
    if (behind > 20) this.stoodStill.times += 1;
    this.stoodStill.most = Math.max(this.stoodStill.most, behind);
    this.#last = now;
    frame.set(sines[this.count % KINDS] ?? []);
    this.count += 1;
    return true;
  }
}

/** Holds the frames that arrive against those that were said, from the first one that arrives. */
export class FrameLedger {
  arrived = 0;
  missing = 0;
  /** Frames in between that were not said: repeated or silent. */
  madeUp = 0;
  readonly #said: NumberedFrames;
  #first: number | undefined;
  #number = 0;
  #closedAt: number | undefined;

  constructor(said: NumberedFrames) {
    this.#said = said;
  }

  /** Frames said from the first one that arrived to the last one that could. */
  get sent(): number {
    return this.#first === undefined ? 0 : this.#until - this.#first;
  }

  /** Takes 20 ms; a frame behind the last one heard, by less than half a turn, is a repetition. */
  hear(samples: Int16Array): void {
    if (this.#number >= this.#until) return;
    const kind = kindOf(samples);
    if (kind === undefined) return void (this.madeUp += this.#first === undefined ? 0 : 1);
    if (this.#first === undefined) this.#begin(kind);
    const step = (kind - (this.#number % KINDS) + KINDS) % KINDS;
    if (step >= KINDS / 2) return void (this.madeUp += 1);
    this.missing += step;
    this.arrived += 1;
    this.#number += step + 1;
  }

  /** What is said from now on does not count; waits for what was said before. What has not come after two seconds is missing. */
  async close(): Promise<void> {
    this.#closedAt = this.#said.count;
    for (let waited = 0; waited < LAST_MS && this.#number < this.#closedAt; waited += 20) await pause(20);
    this.missing += Math.max(0, this.#closedAt - this.#number);
    this.#number = this.#closedAt;
  }

  get #until(): number {
    return this.#closedAt ?? this.#said.count + KINDS;
  }

  /** Finds the number of the first frame: the newest one of its kind that was said. */
  #begin(kind: number): void {
    const newest = this.#said.count - 1;
    this.#number = this.#first = newest - ((newest - kind + KINDS) % KINDS);
  }
}

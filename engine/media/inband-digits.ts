import { frameSamples } from './clock.ts';
import { rateOf } from './frame-resampler.ts';
import { loudness, toneAmplitude } from './tones.ts';
import type { Digit } from './telephone-event.ts';

const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];
const pad = '123A456B789C*0#D';
/** RMS below which a frame holds no key; about -38 dBm0. */
const quietest = 200;
/** Share of a frame's energy that the two tones have: less when they are a little off (ITU-T Q.24: 1.5 %), never so little in speech for long. */
const pure = 0.55;
/** By how much a tone stands out of its group, in amplitude. */
const outstanding = 2;
/** How much louder the high tone may be than the low one, and the low than the high, in amplitude: 4 and 8 dB. */
const twist = { high: 1.6, low: 2.5 };
/** Shorter is no key: 40 ms. */
const leastFrames = 2;

/**
 * Keys pressed as tones in the audio (ITU-T Q.23, Q.24), for parties that know no telephone-event. One digit for each
 * press, at its end.
 */
export class InbandDigits {
  readonly #onDigit: (digit: Digit) => void;
  #key: string | null = null;
  #frames = 0;
  #level = 0;
  #glitches = 0;

  constructor(onDigit: (digit: Digit) => void) {
    this.#onDigit = onDigit;
  }

  /** Takes 20 ms of what the party says. True while a key is down: its tones are not meant for others' ears. */
  push(said: Int16Array): boolean {
    const level = loudness(said);
    const key = level < quietest ? null : keyIn(said, level);
    if (key === null) this.#without(level);
    else this.#with(key, level);
    return this.#frames >= leastFrames;
  }

  #with(key: string, level: number): void {
    if (key !== this.#key) this.#finish();
    this.#key = key;
    this.#frames += 1;
    this.#level = Math.max(this.#level, level);
    this.#glitches = 0;
  }

  /** Silence ends a press; a disturbed frame in the middle of one does not. */
  #without(level: number): void {
    if (this.#key !== null && (level < this.#level / 2 || ++this.#glitches > 1)) this.#finish();
  }

  #finish(): void {
    const [digit, frames] = [this.#key, this.#frames];
    this.#key = null;
    this.#frames = this.#level = this.#glitches = 0;
    if (digit !== null && frames >= leastFrames)
      this.#onDigit({ digit, duration_samples: frames * frameSamples, inband: true });
  }
}

/** The key whose two tones make up the frame; null for anything else. */
function keyIn(samples: Int16Array, level: number): string | null {
  // Written for a frame that holds no key, as nearly all do: it is known by the first group, and nothing is allocated.
  if (!findLoudest(samples, rows, low) || !findLoudest(samples, columns, high)) return null;
  const share = (low.amplitude ** 2 + high.amplitude ** 2) / (2 * level ** 2);
  const balanced = high.amplitude <= twist.high * low.amplitude && low.amplitude <= twist.low * high.amplitude;
  return share >= pure && balanced ? pad.charAt(4 * low.at + high.at) : null;
}

interface Loudest {
  at: number;
  amplitude: number;
}

const low: Loudest = { at: 0, amplitude: 0 };
const high: Loudest = { at: 0, amplitude: 0 };

/** Finds the one of a group that stands out; false when none does. */
function findLoudest(samples: Int16Array, group: readonly number[], found: Loudest): boolean {
  let second = 0;
  const rate = rateOf(samples);
  found.amplitude = 0;
  for (let one = 0; one < group.length; one++) {
    const amplitude = toneAmplitude(samples, group[one] ?? 0, rate);
    if (amplitude > found.amplitude) {
      second = found.amplitude;
      found.at = one;
      found.amplitude = amplitude;
    } else if (amplitude > second) second = amplitude;
  }
  return found.amplitude >= outstanding * second;
}

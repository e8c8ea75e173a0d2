import { frameSamples, sampleRate } from './clock.ts';
import { FrameResampler } from './frame-resampler.ts';
import { loudness, toneAmplitude } from './tones.ts';

/** What was heard: frequency in Hz and amplitude of the sine, each with its variance over the frames. */
export interface Beep {
  frequency: number;
  frequencyVariance: number;
  amplitude: number;
  amplitudeVariance: number;
}

/** Where beeps of answering machines lie; the real server looks here, too. Hz. */
const band = { low: 440, high: 2000 };
/** Amplitude under which nothing is taken for a beep. */
const quietest = 150;
/** Share of a frame's energy that its one sine must have. */
const pure = 0.9;
/** By how much frequency and amplitude may change from frame to frame. */
const steady = { frequency: 0.01, amplitude: 0.1 };
/** So many frames in a row make a beep: 80 ms. */
const leastFrames = 4;

/**
 * Finds the beep of an answering machine: one sine that holds its frequency and loudness for 80 ms. Voices, and tones of
 * two frequencies as keys and most exchanges have them, do not.
 */
export class BeepDetector {
  readonly #onBeep: (beep: Beep) => void;
  readonly #resampler = new FrameResampler();
  #frames: { frequency: number; amplitude: number }[] = [];

  /** `onBeep` is called once for every beep, while it lasts. */
  constructor(onBeep: (beep: Beep) => void) {
    this.#onBeep = onBeep;
  }

  /** Takes the next 20 ms. */
  push(samples: Int16Array): void {
    const sine = sineIn(this.#resampler.bring(samples, sampleRate)); // no beep is above 4 kHz, but noise is
    const last = this.#frames.at(-1);
    if (sine === null || (last && !goesOn(last, sine))) this.#frames = [];
    if (sine === null || this.#frames.length >= leastFrames) return;
    this.#frames.push(sine);
    if (this.#frames.length === leastFrames) this.#onBeep(this.#beep());
  }

  #beep(): Beep {
    const [frequency, frequencyVariance] = spread(this.#frames.map(one => one.frequency));
    const [amplitude, amplitudeVariance] = spread(this.#frames.map(one => one.amplitude));
    return { frequency, frequencyVariance, amplitude, amplitudeVariance };
  }
}

function goesOn(
  last: { frequency: number; amplitude: number },
  now: { frequency: number; amplitude: number },
): boolean {
  const moved = (name: 'frequency' | 'amplitude'): number => Math.abs(now[name] - last[name]) / last[name];
  return moved('frequency') <= steady.frequency && moved('amplitude') <= steady.amplitude;
}

/** The sine that a frame consists of; null for anything else. */
function sineIn(samples: Int16Array): { frequency: number; amplitude: number } | null {
  const level = loudness(samples);
  if (level * Math.SQRT2 < quietest) return null;
  const frequency = pitchOf(samples);
  if (frequency < band.low || frequency > band.high) return null;
  const amplitude = toneAmplitude(samples, frequency);
  return amplitude ** 2 / 2 >= pure * level ** 2 ? { frequency, amplitude } : null;
}

/**
 * The frequency of a sine in noise. For a sine, x[n-1] + x[n+1] = 2c x[n], where c is the cosine of its step; of the sums below
 * noise of strength N adds N to the first and 2N to the last, so it falls out of their difference (Pisarenko).
 */
function pitchOf(samples: Int16Array): number {
  let [power, product, neighbours] = [0, 0, 0];
  for (let at = 1; at < frameSamples - 1; at++) {
    const here = samples[at] ?? 0;
    const around = (samples[at - 1] ?? 0) + (samples[at + 1] ?? 0);
    power += here * here;
    product += here * around;
    neighbours += around * around;
  }
  if (product <= 0) return Infinity; // over a quarter of the sample rate
  const ratio = (neighbours - 2 * power) / product; // = (2c² - 1) / c
  const root = Math.sqrt(ratio * ratio + 8);
  const cosine = ratio < 0 ? 2 / (root - ratio) : (root + ratio) / 4;
  return (Math.acos(Math.min(1, cosine)) * sampleRate) / (2 * Math.PI);
}

/** Mean and variance. */
function spread(values: number[]): [mean: number, variance: number] {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return [mean, values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length];
}

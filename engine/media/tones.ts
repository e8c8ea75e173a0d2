import { sampleRate } from './clock.ts';
import { rateOf } from './frame-resampler.ts';
import { digitFrequencies } from './telephone-event.ts';

const fullScale = 32767;

/** Peak amplitude of a sine of this level; +3.14 dBm0 is the loudest that G.711 knows. */
export function amplitudeOf(dbm0: number): number {
  return fullScale * 10 ** ((Math.min(dbm0, 3.14) - 3.14) / 20);
}

/** Keeps a sum of samples within 16 bits. */
export function saturate(sample: number): number {
  return sample > 32767 ? 32767 : sample < -32768 ? -32768 : sample;
}

/** Writes `from` into `to`, which may be the same, louder or quieter by a factor. */
export function amplify(from: Int16Array, to: Int16Array, factor: number): Int16Array {
  for (let i = 0; i < from.length; i++) to[i] = saturate(Math.round((from[i] ?? 0) * factor));
  return to;
}

/** Adds a sine of `frequency` Hz to `samples`; `offset` is its age in samples, so that frames join without a click. */
export function addTone(
  samples: Int16Array,
  frequency: number,
  amplitude: number,
  offset: number,
  rate = sampleRate,
): void {
  const step = (2 * Math.PI * frequency) / rate;
  for (let i = 0; i < samples.length; i++) {
    samples[i] = saturate((samples[i] ?? 0) + amplitude * Math.sin(step * (offset + i)));
  }
}

/** Adds the two tones of a key at -7 dBm0 each; nothing for what is no key. */
export function addDigitTone(samples: Int16Array, digit: string, offset: number, rate = sampleRate): void {
  for (const frequency of digitFrequencies(digit) ?? []) addTone(samples, frequency, amplitudeOf(-7), offset, rate);
}

/**
 * How much of `samples` is a sine of `frequency` Hz: its peak amplitude (Goertzel). Frequencies 1/length apart and more
 * do not disturb each other: at 8 kHz 160 samples tell 50 Hz apart, 800 samples 10 Hz.
 */
export function toneAmplitude(samples: Int16Array, frequency: number, rate = sampleRate): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * frequency) / rate);
  let before = 0;
  let last = 0;
  for (const sample of samples) {
    const next = sample + coefficient * last - before;
    before = last;
    last = next;
  }
  const power = last * last + before * before - coefficient * last * before;
  return (2 * Math.sqrt(Math.max(0, power))) / samples.length;
}

/** Root mean square of the samples, the loudness of a frame: a sine of peak amplitude a has a/√2. */
export function loudness(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / Math.max(1, samples.length));
}

/** Takes frames and tells when tones that belong together are all there, once each time they begin. */
export class ToneDetector {
  readonly #frequencies: readonly number[];
  readonly #minFrames: number;
  readonly #onTone: () => void;
  #run = 0;

  /** The tones carry at least half of a frame's energy between them, none of them hardly any, for `minMs`. */
  constructor(frequencies: readonly number[], minMs: number, onTone: () => void) {
    this.#frequencies = frequencies;
    this.#minFrames = Math.max(1, Math.ceil(minMs / 20));
    this.#onTone = onTone;
  }

  /** Takes the next 20 ms. */
  push(frame: Int16Array): void {
    this.#run = this.#present(frame) ? this.#run + 1 : 0;
    if (this.#run === this.#minFrames) this.#onTone();
  }

  #present(frame: Int16Array): boolean {
    const level = loudness(frame);
    const rate = rateOf(frame);
    if (level <= 100 || this.#frequencies.some(one => one >= rate / 2)) return false;
    let [power, least] = [0, Infinity];
    for (const frequency of this.#frequencies) {
      const amplitude = toneAmplitude(frame, frequency, rate);
      power += (amplitude * amplitude) / 2;
      least = Math.min(least, amplitude);
    }
    return power >= (level * level) / 2 && least >= level / 3;
  }
}

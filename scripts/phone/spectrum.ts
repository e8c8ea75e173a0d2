import { SAMPLE_RATE } from './wav.ts';

/** Amplitude spectrum of some samples: `amplitudes[i]` is the peak (0..1 of full scale) of a sine at `i * binHz`. */
export interface Spectrum {
  amplitudes: Float64Array;
  binHz: number;
}

/** A Hann-windowed Fourier transform, padded with zeroes to at least `size` points (a power of two). */
export function spectrum(samples: Int16Array, size: number): Spectrum {
  const re = new Float64Array(size);
  const im = new Float64Array(size);
  const count = Math.min(samples.length, size);
  for (let i = 0; i < count; i += 1) {
    re[i] = ((samples[i] ?? 0) / 32_768) * (0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / count));
  }
  transform(re, im);
  const amplitudes = new Float64Array(size / 2);
  // The window's samples add up to count / 2, and a real sine splits into two halves.
  for (let i = 0; i < size / 2; i += 1) amplitudes[i] = Math.hypot(re[i] ?? 0, im[i] ?? 0) * (4 / count);
  return { amplitudes, binHz: SAMPLE_RATE / size };
}

/** Cooley and Tukey's transform in place, radix 2. */
function transform(re: Float64Array, im: Float64Array): void {
  reorder(re, im);
  for (let length = 2; length <= re.length; length *= 2) {
    for (let j = 0; j < length / 2; j += 1) {
      const cos = Math.cos((-2 * Math.PI * j) / length);
      const sin = Math.sin((-2 * Math.PI * j) / length);
      for (let a = j; a < re.length; a += length) butterfly(re, im, a, a + length / 2, cos, sin);
    }
  }
}

function butterfly(re: Float64Array, im: Float64Array, a: number, b: number, cos: number, sin: number): void {
  const tr = (re[b] ?? 0) * cos - (im[b] ?? 0) * sin;
  const ti = (re[b] ?? 0) * sin + (im[b] ?? 0) * cos;
  re[b] = (re[a] ?? 0) - tr;
  im[b] = (im[a] ?? 0) - ti;
  re[a] = (re[a] ?? 0) + tr;
  im[a] = (im[a] ?? 0) + ti;
}

function reorder(re: Float64Array, im: Float64Array): void {
  for (let i = 1, j = 0; i < re.length; i += 1) {
    let bit = re.length >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j] ?? 0, re[i] ?? 0];
      [im[i], im[j]] = [im[j] ?? 0, im[i] ?? 0];
    }
  }
}

/** Peak amplitude (0..1) of one frequency, by Goertzel's method under a Hann window. */
export function amplitudeOf(samples: Int16Array, hz: number): number {
  const w = (2 * Math.PI * hz) / SAMPLE_RATE;
  let one = 0;
  let two = 0;
  for (let i = 0; i < samples.length; i += 1) {
    const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / samples.length);
    const next = ((samples[i] ?? 0) / 32_768) * hann + 2 * Math.cos(w) * one - two;
    two = one;
    one = next;
  }
  const power = one * one + two * two - 2 * Math.cos(w) * one * two;
  return Math.sqrt(Math.max(0, power)) * (4 / Math.max(1, samples.length));
}

/** Root mean square level in dB of full scale: a sine at full scale is -3; silence is -Infinity. */
export function levelDbfs(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return 10 * Math.log10(sum / Math.max(1, samples.length) / 32_768 ** 2);
}

import { amplitudeOf, spectrum } from './spectrum.ts';
import type { Spectrum } from './spectrum.ts';

/** A steady sine wave heard in a window. */
export interface Tone {
  hz: number;
  /** Level of the sine in dB of full scale. */
  dbfs: number;
}

/** Quieter than this is not heard as a tone. */
const FAINTEST_DBFS = -45;
/** A tone this far below the loudest one may be the window's own side lobe or G.711's noise. */
const MASKED_DB = 24;
const LOWEST_HZ = 80;
const HIGHEST_HZ = 3700;
const PARTS = 4;
/** How much a steady tone may vary from part to part of the window. */
const STEADY_DB = 3;

/**
 * The steady tones of a window, loudest first: peaks of the spectrum that are as narrow as the window allows and equally loud in
 * every part of it. Speech has peaks too, but they move. A window of 200 ms parts tones 25 Hz from each other.
 */
export function findTones(samples: Int16Array): Tone[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1024, samples.length * 2)));
  const whole = spectrum(samples, size);
  const found = peaks(whole).filter(tone => isNarrow(whole, tone, samples.length) && isSteady(samples, tone));
  return found.sort((a, b) => b.dbfs - a.dbfs);
}

/** True when a steady tone of this frequency is among those heard. */
export function hearsTone(samples: Int16Array, hz: number, tolerance_hz = 6): boolean {
  return findTones(samples).some(tone => Math.abs(tone.hz - hz) <= tolerance_hz);
}

function peaks({ amplitudes, binHz }: Spectrum): Tone[] {
  const first = Math.ceil(LOWEST_HZ / binHz);
  const last = Math.min(Math.floor(HIGHEST_HZ / binHz), amplitudes.length - 2);
  const loudest = amplitudes.subarray(first, last + 1).reduce((a, b) => Math.max(a, b), 0);
  const least = Math.max(10 ** (FAINTEST_DBFS / 20), loudest / 10 ** (MASKED_DB / 20));
  const found: Tone[] = [];
  for (let i = first; i <= last; i += 1) {
    const [left = 0, top = 0, right = 0] = amplitudes.subarray(i - 1, i + 2);
    if (top < least || top <= left || top < right) continue;
    const shift = (0.5 * (left - right)) / (left - 2 * top + right);
    found.push({ hz: Math.round((i + shift) * binHz), dbfs: 20 * Math.log10(top) });
  }
  return found;
}

/** Under a Hann window a pure sine has fallen by 6 dB one window-bin (1 / duration) beside its peak, whatever it is. */
function isNarrow({ amplitudes, binHz }: Spectrum, tone: Tone, count: number): boolean {
  const aside = 8000 / count / binHz;
  const centre = tone.hz / binHz;
  const top = 10 ** (tone.dbfs / 20);
  return [centre - aside, centre + aside].every(bin => (amplitudes[Math.round(bin)] ?? 0) < top * 0.62);
}

function isSteady(samples: Int16Array, tone: Tone): boolean {
  const length = Math.floor(samples.length / PARTS);
  return Array.from({ length: PARTS }, (_, i) => samples.subarray(i * length, (i + 1) * length)).every(part => {
    const db = 20 * Math.log10(amplitudeOf(part, tone.hz));
    return Math.abs(db - tone.dbfs) <= STEADY_DB;
  });
}

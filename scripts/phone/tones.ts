import { amplitudeOf, levelDbfs, spectrum } from './spectrum.ts';
import type { Spectrum } from './spectrum.ts';
import { SAMPLE_RATE } from './wav.ts';

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
/** A sine of less than 3 % of all energy (its peak is 3 dB above its RMS) is what any noise has at random. */
const LEAST_SHARE_DB = -12;
/** Below, a telephone line carries no tones, but voices have their pitch there. */
const LOWEST_HZ = 200;
const HIGHEST_HZ = 3700;
const PARTS = 2;
const WIDEST = 0.48;
/** How much a steady tone may vary from part to part of the window. */
const STEADY_DB = 3;

/**
 * The steady tones of a window, loudest first: peaks of the spectrum that are as narrow as the window allows and equally loud in
 * every part of it. Speech has peaks too, but they move. A window of 200 ms parts tones 25 Hz from each other.
 */
export function findTones(samples: Int16Array): Tone[] {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1024, samples.length * 2)));
  const whole = spectrum(samples, size);
  const least = Math.max(FAINTEST_DBFS, levelDbfs(samples) + LEAST_SHARE_DB);
  const found = peaks(whole, least).filter(tone => isNarrow(whole, tone, samples.length) && isSteady(samples, tone));
  return found.sort((a, b) => b.dbfs - a.dbfs).map(({ hz, dbfs }) => ({ hz: Math.round(hz), dbfs }));
}

function peaks({ amplitudes, binHz }: Spectrum, least_dbfs: number): Tone[] {
  const first = Math.ceil(LOWEST_HZ / binHz);
  const last = Math.min(Math.floor(HIGHEST_HZ / binHz), amplitudes.length - 2);
  const loudest = amplitudes.subarray(first, last + 1).reduce((a, b) => Math.max(a, b), 0);
  const least = Math.max(10 ** (least_dbfs / 20), loudest / 10 ** (MASKED_DB / 20));
  const found: Tone[] = [];
  for (let i = first; i <= last; i += 1) {
    const [left = 0, top = 0, right = 0] = amplitudes.subarray(i - 1, i + 2);
    if (top < least || top <= left || top < right) continue;
    const shift = (0.5 * (left - right)) / (left - 2 * top + right);
    found.push({ hz: (i + shift) * binHz, dbfs: 20 * Math.log10(top) });
  }
  return found;
}

/**
 * Under a Hann window a pure sine has fallen to 0.32 of its peak at 1.25 window-bins (a bin is 1 / duration) beside it,
 * whatever it is; what glides or trembles is wider.
 */
function isNarrow({ amplitudes, binHz }: Spectrum, tone: Tone, count: number): boolean {
  const aside = (1.25 * SAMPLE_RATE) / count / binHz;
  const top = tone.hz / binHz;
  return [top - aside, top + aside].every(bin => between(amplitudes, bin) < 10 ** (tone.dbfs / 20) * WIDEST);
}

function between(values: Float64Array, at: number): number {
  const below = Math.floor(at);
  return (values[below] ?? 0) + ((values[below + 1] ?? 0) - (values[below] ?? 0)) * (at - below);
}

function isSteady(samples: Int16Array, tone: Tone): boolean {
  const length = Math.floor(samples.length / PARTS);
  return Array.from({ length: PARTS }, (_, i) => samples.subarray(i * length, (i + 1) * length)).every(part => {
    const db = 20 * Math.log10(amplitudeOf(part, tone.hz));
    return Math.abs(db - tone.dbfs) <= STEADY_DB;
  });
}

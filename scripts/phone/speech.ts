import { levelDbfs, spectrum } from './spectrum.ts';
import { SAMPLE_RATE } from './wav.ts';

/** What kind of sound a window holds. */
export type Sounding = 'silence' | 'tone' | 'speech' | 'noise';

const FRAME = 256;
const STEP = 128;
const SILENT_DBFS = -50;

interface Frame {
  dbfs: number;
  /** Share of the energy in the three strongest peaks: near 1 for tones and keys. */
  purity: number;
  /** Geometric over arithmetic mean of the power: near 1 for white noise, small for voices. */
  flatness: number;
  /** Where the energy lies, in Hz. */
  centre: number;
}

/**
 * Tells speech from tones (also keys and cadences), noise and silence. Wants about a second. Speech is what is loud and quiet in
 * turn, has a voice's uneven spectrum rather than one of few lines or none, and moves about in it.
 */
export function classify(samples: Int16Array): Sounding {
  const frames = framesOf(samples);
  const loud = frames.filter(frame => frame.dbfs > SILENT_DBFS);
  if (loud.length < Math.max(3, frames.length * 0.08)) return 'silence';
  if (loud.filter(frame => frame.purity > 0.93).length > loud.length * 0.6) return 'tone';
  const moves = deviation(loud.map(frame => frame.centre));
  const swings = deviation(loud.map(frame => frame.dbfs));
  const voiced = loud.filter(frame => frame.flatness < 0.15).length / loud.length;
  return moves > 60 && swings > 2 && voiced > 0.25 ? 'speech' : 'noise';
}

/** A voice's lowest harmonics are so strong that its vowels look like tones; every telephone's are weaker by some 6 dB an octave. */
function emphasise(samples: Int16Array): Int16Array {
  return samples.map((sample, i) => sample - 0.95 * (samples[i - 1] ?? 0));
}

function framesOf(all: Int16Array): Frame[] {
  const frames: Frame[] = [];
  const samples = emphasise(all);
  for (let at = 0; at + FRAME <= samples.length; at += STEP) frames.push(frameOf(samples.subarray(at, at + FRAME)));
  return frames;
}

function frameOf(samples: Int16Array): Frame {
  const power = spectrum(samples, FRAME).amplitudes.map(a => a * a);
  const total = power.reduce((a, b) => a + b, 1e-12);
  const log = power.reduce((a, b) => a + Math.log(b + 1e-12), 0);
  const centre = power.reduce((a, b, i) => a + b * i, 0) / total;
  return {
    dbfs: levelDbfs(samples),
    purity: linesOf(power, 3) / total,
    flatness: Math.exp(log / power.length) / (total / power.length),
    centre: (centre * SAMPLE_RATE) / FRAME,
  };
}

/** Energy of the strongest spectral lines, each with the window's main lobe around it. */
function linesOf(power: Float64Array, count: number): number {
  const rest = power.slice();
  let sum = 0;
  for (let n = 0; n < count; n += 1) {
    const top = rest.indexOf(Math.max(...rest));
    const lobe = rest.subarray(Math.max(0, top - 2), top + 3);
    sum += lobe.reduce((a, b) => a + b, 0);
    lobe.fill(0);
  }
  return sum;
}

function deviation(values: number[]): number {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
}

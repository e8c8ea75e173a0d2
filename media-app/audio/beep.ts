import { FRAME_SAMPLES } from './encapsulation.ts';

/** Hertz from one frequency of the spectrum to the next: 8000 samples a second in frames of 160. */
const STEP_HZ = 50;
/** Beeps lie here; lower is voice, higher is fax and modem. */
const BAND_HZ = { low: 400, high: 2400 };
/** Share of a frame's energy that one frequency and its neighbours must have to be a tone. */
const PURE = 0.9;

const FIRST = BAND_HZ.low / STEP_HZ;
const LAST = BAND_HZ.high / STEP_HZ;
const WINDOW = Float64Array.from(
  { length: FRAME_SAMPLES },
  (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAME_SAMPLES),
);

/** Energy of one frequency (Goertzel), on the scale of the sum of squares. */
const energyAt = (samples: Float64Array, bin: number): number => {
  const turn = 2 * Math.cos((2 * Math.PI * bin) / FRAME_SAMPLES);
  let [before, last] = [0, 0];
  for (const sample of samples) [before, last] = [last, sample + turn * last - before];
  return (2 * (last * last + before * before - turn * last * before)) / FRAME_SAMPLES;
};

/** The frequency in Hz of a frame that is one pure tone in the band of beeps; 0 for anything else. */
export const pureTone = (samples: Int16Array): number => {
  const windowed = Float64Array.from(WINDOW, (weight, at) => weight * (samples[at] ?? 0));
  let total = 0;
  for (const sample of windowed) total += sample * sample;
  if (total === 0) return 0;
  const energies = Array.from({ length: LAST - FIRST + 3 }, (_, at) => energyAt(windowed, FIRST - 1 + at));
  let peak = 1;
  for (let at = 1; at <= LAST - FIRST + 1; at++) if ((energies[at] ?? 0) > (energies[peak] ?? 0)) peak = at;
  const share = ((energies[peak - 1] ?? 0) + (energies[peak] ?? 0) + (energies[peak + 1] ?? 0)) / total;
  return share >= PURE ? (FIRST - 1 + peak) * STEP_HZ : 0;
};

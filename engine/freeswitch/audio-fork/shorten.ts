import { frameSamples } from '../../media/clock.ts';

/** What is left out at once: 10 to 20 ms, among which a whole number of periods of any voice or tone from 100 Hz on is. */
const cut = { least: frameSamples / 2, most: frameSamples };

/** Samples that `shorten` looks at. */
export const shortened = frameSamples + cut.most;

/**
 * Leaves 10 to 20 ms, no more than `most` samples, out at the beginning of `samples` (at least `shortened` of them, 8 kHz) so that it is not heard: where the
 * sound is most like its beginning, the beginning passes over into it within 20 ms (WSOLA, Verhelst and Roelands 1993). The
 * sound goes on at the returned index.
 */
export function shorten(samples: Int16Array, most: number): number {
  const length = mostAlike(samples, Math.max(cut.least, Math.min(cut.most, most)));
  for (let i = frameSamples - 1; i >= 0; i--) {
    const share = (i + 0.5) / frameSamples;
    samples[length + i] = Math.round((samples[i] ?? 0) * (1 - share) + (samples[length + i] ?? 0) * share);
  }
  return length;
}

function mostAlike(samples: Int16Array, longest: number): number {
  let [best, most] = [longest, -Infinity];
  for (let lag = longest; lag >= cut.least; lag--) {
    const likeness = likenessAt(samples, lag);
    if (likeness > most) [best, most] = [lag, likeness];
  }
  return best;
}

function likenessAt(samples: Int16Array, lag: number): number {
  let [product, energy] = [0, 1];
  for (let i = 0; i < frameSamples; i++) {
    const later = samples[lag + i] ?? 0;
    product += (samples[i] ?? 0) * later;
    energy += later * later;
  }
  return product / Math.sqrt(energy);
}

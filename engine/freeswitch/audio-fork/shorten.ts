/** Frames that `shorten` looks at. */
export const shortenedFrames = 2;

/**
 * Leaves 10 to 20 ms, no more than `most` samples, out at the beginning of `samples` (at least two frames, of so many samples) so that
 * it is not heard: where the sound is most like its beginning, the beginning passes over into it within 20 ms (WSOLA, Verhelst and
 * Roelands 1993). Among 10 to 20 ms is a whole number of periods of any voice or tone from 100 Hz on. The sound goes on at the
 * returned index.
 */
export function shorten(samples: Int16Array, most: number, frame: number): number {
  const length = mostAlike(samples, Math.max(frame / 2, Math.min(frame, most)), frame);
  for (let i = frame - 1; i >= 0; i--) {
    const share = (i + 0.5) / frame;
    samples[length + i] = Math.round((samples[i] ?? 0) * (1 - share) + (samples[length + i] ?? 0) * share);
  }
  return length;
}

function mostAlike(samples: Int16Array, longest: number, frame: number): number {
  let [best, most] = [longest, -Infinity];
  for (let lag = longest; lag >= frame / 2; lag--) {
    const likeness = likenessAt(samples, lag, frame);
    if (likeness > most) [best, most] = [lag, likeness];
  }
  return best;
}

function likenessAt(samples: Int16Array, lag: number, frame: number): number {
  let [product, energy] = [0, 1];
  for (let i = 0; i < frame; i++) {
    const later = samples[lag + i] ?? 0;
    product += (samples[i] ?? 0) * later;
    energy += later * later;
  }
  return product / Math.sqrt(energy);
}

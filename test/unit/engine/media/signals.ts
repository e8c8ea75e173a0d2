import type { FrameSource } from '../../../../engine/media/audio-leg.ts';

/** A sine of this frequency and peak amplitude, one Int16Array of the asked length. */
export function sine(frequency: number, length: number, amplitude = 8000, rate = 8000): Int16Array {
  return Int16Array.from({ length }, (_, i) => Math.round(amplitude * Math.sin((2 * Math.PI * frequency * i) / rate)));
}

/** Reads a source to its end, at most `maxFrames` frames of 20 ms, as one array. */
export function drain(source: FrameSource, maxFrames = 1000): Int16Array {
  const all: number[] = [];
  const frame = new Int16Array(160);
  for (let i = 0; i < maxFrames && source.read(frame); i++) all.push(...frame);
  return Int16Array.from(all);
}

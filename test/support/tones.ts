import { findTones } from '../../scripts/phone/tones.ts';

/** The samples of raw 16-bit audio, little-endian. */
export const samplesOf = (frames: Buffer[]): Int16Array => {
  const bytes = Buffer.concat(frames);
  return Int16Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(at * 2));
};

/** The tones of audio at 8 kHz, to 10 Hz, lowest first. */
export const tonesIn = (audio: Int16Array): number[] =>
  findTones(audio)
    .map(tone => Math.round(tone.hz / 10) * 10)
    .sort((one, other) => one - other);

/** Those of the 400 ms in its middle. */
export const tonesAmid = (audio: Int16Array): number[] => {
  const middle = Math.floor(audio.length / 2);
  return tonesIn(audio.subarray(middle - 1600, middle + 1600));
};

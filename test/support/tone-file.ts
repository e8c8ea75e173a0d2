import { writeFileSync } from 'node:fs';
import { tone } from '../../scripts/phone/sound.ts';
import { formatWav, SAMPLE_RATE } from '../../scripts/phone/wav.ts';

/** Writes a minute of a tone as a WAV file, for programs that take one for a microphone. */
export const writeTone = (path: string, hz: number): void => {
  const samples = new Int16Array(60 * SAMPLE_RATE);
  tone(hz).fill(samples);
  writeFileSync(path, formatWav(samples));
};

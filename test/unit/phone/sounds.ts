import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeG711, encodeG711 } from '../../../scripts/phone/g711.ts';
import { parseWav } from '../../../scripts/phone/wav.ts';

/** Sounds as they come out of a telephone line: every one has been through G.711. */

export const SPOKEN = 'Welcome to Trunkline. Press one for sales, two for support.';

export function throughLine(samples: Int16Array): Int16Array {
  return decodeG711('PCMU', encodeG711('PCMU', samples));
}

/** So many milliseconds of a function of the sample's number. */
export function sound(duration_ms: number, wave: (i: number) => number): Int16Array {
  return throughLine(Int16Array.from({ length: duration_ms * 8 }, (_, i) => wave(i)));
}

export function sine(hz: number, peak = 7300): (i: number) => number {
  return i => peak * Math.sin((2 * Math.PI * hz * i) / 8000);
}

/** A text spoken by a speech synthesizer of Debian's. */
export function speech(program: 'espeak-ng' | 'flite', text: string, voice?: string): Int16Array {
  const folder = mkdtempSync(join(tmpdir(), 'speech-'));
  const file = join(folder, 'speech.wav');
  try {
    if (program === 'espeak-ng') execFileSync('espeak-ng', ['-v', voice ?? 'en-us', '-w', file, text]);
    else execFileSync('flite', ['-voice', voice ?? 'slt', '-t', text, '-o', file]);
    return throughLine(parseWav(readFileSync(file)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

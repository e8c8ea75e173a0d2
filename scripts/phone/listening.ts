import type { Hearing } from './hearing.ts';
import { levelDbfs } from './spectrum.ts';
import { classify } from './speech.ts';
import { findTones } from './tones.ts';

/** What a call sounds like just now, in words: `silence`, `410 Hz`, `speech`, `noise`. */
export function describeSound(hearing: Hearing): string {
  const tones = findTones(hearing.last(200));
  if (tones.length > 0 && tones.length < 5) return `${tones.map(tone => tone.hz).join(' + ')} Hz`;
  const kind = classify(hearing.last(1000));
  return kind === 'tone' ? 'changing tones' : kind;
}

const BARS = 12;
const QUIETEST_DBFS = -54;

/** A bar from -54 to 0 dBFS. */
export function levelMeter(hearing: Hearing): string {
  const dbfs = Math.max(QUIETEST_DBFS, levelDbfs(hearing.last(100)));
  const filled = Math.min(BARS, Math.round(((dbfs - QUIETEST_DBFS) / -QUIETEST_DBFS) * BARS));
  return '█'.repeat(filled) + '·'.repeat(BARS - filled);
}

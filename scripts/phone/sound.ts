import { SAMPLE_RATE } from './wav.ts';

/** Something that can be played: fills a frame, and says false once it has nothing more. */
export interface Sound {
  fill(frame: Int16Array): boolean;
}

export const FRAME_SAMPLES = 160;

export const SILENCE: Sound = {
  fill: frame => {
    frame.fill(0);
    return true;
  },
};

/** -13 dBFS: loud enough to hear, quiet enough that several parties may be mixed without clipping. */
const TONE_PEAK = 7300;

/** A steady sum of sine waves, for as long as it is played. */
export function tone(...hz: number[]): Sound {
  let at = 0;
  const peak = TONE_PEAK / Math.max(1, hz.length / 2);
  return {
    fill: frame => {
      for (let i = 0; i < frame.length; i += 1, at += 1) {
        frame[i] = hz.reduce((sum, f) => sum + peak * Math.sin((2 * Math.PI * f * at) / SAMPLE_RATE), 0);
      }
      return true;
    },
  };
}

/** Samples at 8 kHz, once. */
export function samplesOnce(samples: Int16Array): Sound {
  let at = 0;
  return {
    fill: frame => {
      frame.fill(0);
      frame.set(samples.subarray(at, at + frame.length));
      at += frame.length;
      return at < samples.length;
    },
  };
}

export const DIGITS = '0123456789*#ABCD';
const ROWS = [697, 770, 852, 941];
const COLUMNS = [1209, 1336, 1477, 1633];
const PAD = ['123A', '456B', '789C', '*0#D'];

/** The two frequencies of a digit (ITU-T Q.23), for networks without RFC 4733. */
export function digitTone(digit: string): Sound {
  const row = PAD.findIndex(keys => keys.includes(digit));
  const column = PAD[row]?.indexOf(digit) ?? -1;
  return tone(ROWS[row] ?? 941, COLUMNS[column] ?? 1336);
}

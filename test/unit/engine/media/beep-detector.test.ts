import { strict as assert } from 'node:assert';
import type { Beep } from '../../../../engine/media/beep-detector.ts';
import { BeepDetector } from '../../../../engine/media/beep-detector.ts';
import { decode, encode } from '../../../../engine/media/codecs/g711.ts';

const rate = 8000;

/** A wave of so many milliseconds, by its value at a time in seconds, as it comes over a G.711 line. */
function line(ms: number, wave: (t: number) => number): Int16Array {
  const samples = Int16Array.from({ length: ms * 8 }, (_, at) => Math.round(wave(at / rate)));
  const bytes = new Uint8Array(samples.length);
  encode('PCMU', samples, 0, samples.length, bytes);
  decode('PCMU', bytes, 0, bytes.length, samples);
  return samples;
}

const sine = (hz: number, peak: number) => (t: number) => peak * Math.sin(2 * Math.PI * hz * t);

/** The beeps found in a recording whose frames begin anywhere in it. */
function beepsIn(audio: Int16Array, offset = 0): Beep[] {
  const beeps: Beep[] = [];
  const detector = new BeepDetector(beep => beeps.push(beep));
  for (let at = offset; at + 160 <= audio.length; at += 160) detector.push(audio.subarray(at, at + 160));
  return beeps;
}

const joined = (...parts: Int16Array[]): Int16Array => {
  const all = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** A voice of two formants at a pitch that moves as a speaker's does. */
const voice = (t: number): number => {
  const pitch = 130 + 25 * Math.sin(2 * Math.PI * 3 * t);
  let sum = 0;
  for (let harmonic = 1; harmonic < 25; harmonic += 1) {
    const hz = harmonic * pitch;
    const formant = 1 / (1 + ((hz - 600) / 150) ** 2) + 0.5 / (1 + ((hz - 1700) / 250) ** 2);
    sum +=
      formant * Math.sin(2 * Math.PI * harmonic * (130 * t - (25 / (6 * Math.PI)) * Math.cos(2 * Math.PI * 3 * t)));
  }
  return 2500 * sum;
};

describe('The beep of an answering machine', () => {
  for (const hz of [445, 620, 1000, 1400, 1780, 1990])
    it(`is found at ${hz} Hz, loud and faint, wherever in a frame it begins, once`, () => {
      for (const peak of [20_000, 2000, 400])
        for (const offset of [0, 37, 111]) {
          const beeps = beepsIn(
            joined(
              line(300, voice),
              line(180, sine(hz, peak)),
              line(300, () => 0),
            ),
            offset,
          );
          assert.equal(beeps.length, 1, `peak ${peak}, offset ${offset}`);
          assert.ok(Math.abs((beeps[0]?.frequency ?? 0) - hz) < 5, `${beeps[0]?.frequency} for ${hz}`);
          assert.ok(Math.abs((beeps[0]?.amplitude ?? 0) / peak - 1) < 0.05);
        }
    });

  it('is found in the noise of a bad line', () => {
    const noisy = line(300, t => sine(900, 3000)(t) + 800 * (Math.random() - 0.5));
    assert.equal(beepsIn(noisy).length, 1);
  });

  for (const [what, audio] of [
    ['a voice', line(4000, voice)],
    [
      'silence and noise',
      joined(
        line(500, () => 0),
        line(1000, () => 6000 * (Math.random() - 0.5)),
      ),
    ],
    ['a key', line(500, t => sine(770, 6000)(t) + sine(1336, 6000)(t))],
    ['a busy tone', line(1000, t => sine(480, 6000)(t) + sine(620, 6000)(t))],
    ['a ringing tone', line(1000, t => sine(440, 6000)(t) + sine(480, 6000)(t))],
    ['a dial tone of 425 Hz', line(1000, sine(425, 6000))],
    ['the fax tone of 2100 Hz', line(1000, sine(2100, 6000))],
    [
      'a click of 40 ms',
      joined(
        line(40, sine(1000, 6000)),
        line(200, () => 0),
      ),
    ],
    ['a whistle that glides', line(1000, t => 6000 * Math.sin(2 * Math.PI * (600 * t + 600 * t * t)))],
  ] as const)
    it(`is not found in ${what}`, () => assert.deepEqual(beepsIn(audio), []));
});

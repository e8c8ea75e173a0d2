import { strict as assert } from 'node:assert';
import { InbandDigits } from '../../../../engine/media/inband-digits.ts';
import { digitFrequencies } from '../../../../engine/media/telephone-event.ts';

let seed = 1;
const noise = (): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed / 1_073_741_823.5 - 1;
};

interface Pressed {
  ms?: number;
  /** Milliseconds before it, so that it does not begin with a frame. */
  after?: number;
  low?: number;
  high?: number;
  off?: number;
  noise?: number;
}

/** A key's two tones between silences. */
const press = (
  key: string,
  { ms = 80, after = 7, low = 4000, high = 4000, off = 1, noise: hiss = 0 }: Pressed = {},
) => {
  const [row, column] = digitFrequencies(key) ?? [0, 0];
  const at = (hz: number, sample: number): number => Math.sin((2 * Math.PI * hz * off * sample) / 8000);
  const tone = Array.from({ length: ms * 8 }, (_, sample) => low * at(row, sample) + high * at(column, sample));
  const samples = [...new Array<number>(after * 8).fill(0), ...tone, ...new Array<number>(100 * 8).fill(0)];
  return samples.map(sample => sample + hiss * noise());
};

const heard = (samples: readonly number[]): string => {
  let digits = '';
  const detector = new InbandDigits(({ digit }) => (digits += digit));
  for (let at = 0; at < samples.length; at += 160) {
    const frame = new Int16Array(160);
    frame.set(samples.slice(at, at + 160));
    detector.push(frame);
  }
  return digits;
};

describe('keys as tones in the audio', () => {
  it('are all known, wherever in a frame they begin', () => {
    for (const key of '0123456789*#ABCD')
      for (let after = 0; after < 20; after += 3) assert.equal(heard(press(key, { after })), key, `${key} ${after}`);
  });

  const cases: [title: string, pressed: Pressed, known: boolean][] = [
    ['of 60 ms are known', { ms: 60 }, true],
    ['of 20 ms are none', { ms: 20, after: 0 }, false],
    ['1.4 % too high are known', { off: 1.014 }, true],
    ['1.4 % too low are known', { off: 0.986 }, true],
    ['4 % off are none', { off: 1.04 }, false],
    ['whose high tone is 4 dB louder are known', { low: 3000, high: 4700 }, true],
    ['whose low tone is 7 dB louder are known', { low: 5000, high: 2250 }, true],
    ['with one tone only are none', { high: 0 }, false],
    ['in noise 20 dB below are known', { noise: 900 }, true],
    ['as quiet as a whisper are none', { low: 60, high: 60 }, false],
  ];
  for (const [title, pressed, known] of cases)
    it(title, () => {
      for (const key of '159D0') assert.equal(heard(press(key, pressed)), known ? key : '', key);
    });

  it('pressed twice are two, a gap of 40 ms between them', () => {
    const once = press('7', { after: 0 }).slice(0, 120 * 8);
    assert.equal(heard([...once, ...once, ...press('7', { after: 0 })]), '777');
  });

  it('with a disturbed frame in their middle are one', () => {
    const samples = press('3', { ms: 160, after: 0 });
    for (let at = 480; at < 640; at++) samples[at] = 8000 * noise();
    assert.equal(heard(samples), '3');
  });

  it('are not found in voices and noise', () => {
    const voice = (pitch: number): number[] =>
      Array.from({ length: 16_000 }, (_, at) => {
        let sum = 0;
        for (let harmonic = 1; harmonic <= 25; harmonic++)
          sum += Math.sin((2 * Math.PI * (pitch + at / 400) * harmonic * at) / 8000) / harmonic;
        return 3000 * sum;
      });
    for (const pitch of [90, 120, 174, 200, 235]) assert.equal(heard(voice(pitch)), '', `${pitch} Hz`);
    assert.equal(heard(Array.from({ length: 80_000 }, () => 6000 * noise())), '');
  });
});

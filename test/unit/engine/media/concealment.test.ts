import { strict as assert } from 'node:assert';
import { Concealment } from '../../../../engine/media/concealment.ts';
import { toneAmplitude } from '../../../../engine/media/tones.ts';

/** 20 ms of a sound, by the number of the frame. */
const sound = (hz: number[], n: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, at) =>
    hz.reduce((sum, one) => sum + 4000 * Math.sin((2 * Math.PI * one * (n * 160 + at)) / 8000), 0),
  );

const rms = (samples: Int16Array): number => Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / 160);

describe('lost packets', () => {
  for (const hz of [[100, 200, 300], [130, 260, 520], [440], [1000]])
    it(`in the middle of ${hz.join(' + ')} Hz are hardly heard`, () => {
      const concealment = new Concealment();
      for (let n = 0; n < 3; n++) concealment.heard(sound(hz, n));
      const made = new Int16Array(160);
      assert.equal(concealment.makeUp(made), true);
      const wanted = sound(hz, 3);
      const error = made.subarray(0, 80).map((sample, at) => sample - (wanted[at] ?? 0)); // before it fades
      assert.ok(rms(error) < 0.25 * rms(wanted), `${rms(error).toFixed(0)} of ${rms(wanted).toFixed(0)}`);
    });

  it('fade, and are silence after 60 ms', () => {
    const concealment = new Concealment();
    for (let n = 0; n < 3; n++) concealment.heard(sound([500], n));
    const made = new Int16Array(160);
    const levels = Array.from({ length: 4 }, () => [concealment.makeUp(made), Math.round(toneAmplitude(made, 500))]);
    const [first, second, third, fourth] = levels.map(([, level]) => Number(level));
    assert.deepEqual(
      levels.map(([audible]) => audible),
      [true, true, true, false],
    );
    assert.ok((first ?? 0) > 3600 && (second ?? 0) > 2000 && (second ?? 0) < 2800 && (third ?? 0) < 1200);
    assert.equal(fourth, 0);
  });

  it('leave no click where the sound comes back', () => {
    const concealment = new Concealment();
    for (let n = 0; n < 3; n++) concealment.heard(sound([500], n));
    const made = new Int16Array(160);
    for (let n = 0; n < 2; n++) concealment.makeUp(made);
    const back = sound([500], 5).map((_, at) => 4000 * Math.sin((2 * Math.PI * 500 * (at + 8)) / 8000)); // another phase
    const last = made[159] ?? 0;
    concealment.heard(back);
    assert.ok(Math.abs((back[0] ?? 0) - last) < 1700, `${last} to ${back[0]}`);
  });

  it('before anything was heard are silence', () => {
    const made = new Int16Array(160).fill(9);
    assert.equal(new Concealment().makeUp(made), false);
    assert.ok(made.every(sample => sample === 0));
  });
});

import { strict as assert } from 'node:assert';
import { AMD, hearAmd, initialAmd, judgeAmd } from '../../../../media-app/audio/amd.ts';
import { pureTone } from '../../../../media-app/audio/beep.ts';

/** Sound for a number of milliseconds, from the sample's number. */
type Sound = [ms: number, sample: (at: number) => number];

let seed = 1;
const noise = (level: number) => (): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return (seed / 1_073_741_823.5 - 1) * level;
};
const silence = (ms: number): Sound => [ms, () => 0];
const hiss = (ms: number, level: number): Sound => [ms, noise(level)];
const beep = (ms: number, hz: number, level = 8000): Sound => [
  ms,
  at => level * Math.sin((2 * Math.PI * hz * at) / 8000),
];
/** Something like a voice: a buzz of 120 Hz with its harmonics, swelling and fading four times a second. */
const voice = (ms: number, level = 6000): Sound => [
  ms,
  at => {
    const swell = 0.75 + 0.25 * Math.sin((2 * Math.PI * 4 * at) / 8000);
    let sum = 0;
    for (let harmonic = 1; harmonic <= 20; harmonic++)
      sum += Math.sin((2 * Math.PI * 120 * harmonic * at) / 8000) / harmonic;
    return level * swell * sum * 0.5;
  },
];
const words = (count: number, ms: number, gap: number): Sound[] =>
  Array.from({ length: count }, () => [voice(ms), silence(gap)]).flat();

/** The verdict and when it was given, in milliseconds. */
const judged = (sounds: Sound[], background = 0): { result: string; confidence: number; after: number } => {
  const floor = noise(background);
  const samples = sounds.flatMap(([ms, sample]) => Array.from({ length: ms * 8 }, (_, at) => sample(at) + floor()));
  let state = initialAmd;
  for (let at = 0; at < AMD.total * 8; at += 160) {
    const frame = Int16Array.from({ length: 160 }, (_, i) => samples[at + i] ?? floor());
    state = hearAmd(state, frame);
    const verdict = judgeAmd(state);
    if (verdict) return { ...verdict, after: state.elapsed };
  }
  return assert.fail('no verdict');
};

const cases: [title: string, sounds: Sound[], result: string, latest: number][] = [
  ['one word and a pause is a person', [silence(500), voice(400)], 'human', 1600],
  ['a word at once is a person', [voice(300)], 'human', 1200],
  ['a short sentence is a person', [silence(300), ...words(4, 250, 100)], 'human', 2700],
  ['somebody who picks up slowly is a person', [silence(2500), voice(500)], 'human', 4000],
  ['a click before the word changes nothing', [silence(200), hiss(20, 9000), silence(400), voice(400)], 'human', 2000],
  ['a speech without an end is a machine', [silence(300), voice(6000)], 'machine', 4700],
  ['a company that greets for three seconds and waits is a person', [silence(300), voice(2900)], 'human', 4000],
  ['a company that says its whole name and offers help is a person', [silence(300), voice(3700)], 'human', 5000],
  ['a person whose long greeting stutters on its way', [silence(300), ...words(9, 330, 120)], 'human', 5300],
  ['many words in a row are a machine', [silence(300), ...words(14, 200, 100)], 'machine', 3600],
  [
    'a machine that takes a breath before its beep',
    [silence(300), voice(3300), silence(740), beep(500, 1000)],
    'machine',
    4700,
  ],
  ['a beep at once is a machine', [silence(400), beep(500, 1000)], 'machine', 800],
  ['a beep after two words is a machine', [voice(600), silence(300), beep(400, 440)], 'machine', 1400],
  ['a high beep is a machine', [silence(400), beep(300, 2100)], 'machine', 800],
  ['silence tells nothing', [silence(100)], 'notsure', AMD.total],
  ['soft hiss tells nothing', [hiss(6000, 100)], 'notsure', AMD.total],
  ['a click tells nothing', [silence(500), hiss(20, 9000)], 'notsure', AMD.total],
];

describe('answering machine detection', () => {
  for (const [title, sounds, result, latest] of cases)
    it(title, () => {
      const verdict = judged(sounds);
      assert.equal(verdict.result, result);
      assert.ok(verdict.after <= latest, `after ${verdict.after} ms`);
      assert.ok(verdict.confidence >= 0 && verdict.confidence <= 1);
    });

  for (const [title, sounds, result] of cases.filter(([, , result]) => result !== 'notsure'))
    it(`over a noisy line ${title}`, () => assert.equal(judged(sounds, 150).result, result));

  it('waits no longer than its limits after the last word of a person', () => {
    for (const talk of [300, 1000, 2000, 2400])
      assert.ok(judged([voice(talk)]).after <= talk + AMD.waits + 40, `${talk}`);
    for (const talk of [2600, 3800]) assert.ok(judged([voice(talk)]).after <= talk + AMD.waits_after_long_talk + 40);
  });

  it('is surer of a person who says less', () => {
    assert.ok(judged([voice(400)]).confidence > judged([voice(2200)]).confidence);
  });

  it('takes no voice for a tone', () => {
    const [, sample] = voice(20);
    assert.equal(pureTone(Int16Array.from({ length: 160 }, (_, at) => sample(at))), 0);
  });

  it('finds the frequency of a tone within half a step', () => {
    for (const hz of [440, 950, 1000, 1400, 2100]) {
      const [, sample] = beep(20, hz);
      assert.ok(Math.abs(pureTone(Int16Array.from({ length: 160 }, (_, at) => sample(at))) - hz) <= 25, `${hz} Hz`);
    }
  });
});

import { strict as assert } from 'node:assert';
import { classify } from '../../../scripts/phone/speech.ts';
import { levelDbfs } from '../../../scripts/phone/spectrum.ts';
import { digitTone } from '../../../scripts/phone/sound.ts';
import { findTones } from '../../../scripts/phone/tones.ts';
import { SPOKEN, sine, sound, speech } from './sounds.ts';

const heard = (samples: Int16Array) => findTones(samples).map(tone => tone.hz);

/** What each second of a sound, taken every 100 ms, is judged to be. */
function judgements(samples: Int16Array): string[] {
  const starts = Array.from({ length: Math.max(1, Math.floor((samples.length - 8000) / 800) + 1) }, (_, i) => i * 800);
  return starts.map(at => classify(samples.subarray(at, at + 8000)));
}

describe('the phone names the tones it hears', () => {
  it('to the Hertz, from 250 to 3400 Hz, loud or as faint as -40 dBFS', () => {
    for (let hz = 250; hz <= 3400; hz += 45) {
      for (const peak of [330, 7300, 30_000]) assert.deepEqual(heard(sound(200, sine(hz, peak))), [hz]);
    }
  });

  it('with their level', () => {
    const [tone] = findTones(sound(200, sine(1000, 16_384)));
    assert.ok(Math.abs((tone?.dbfs ?? 0) + 6) < 0.2);
    assert.ok(Math.abs(levelDbfs(sound(200, sine(1000, 16_384))) + 9) < 0.2);
  });

  it('several at once, loudest first, also 12 dB apart', () => {
    const mixed = sound(200, i => sine(440, 8000)(i) + sine(620, 2000)(i) + sine(1209, 4000)(i));
    assert.deepEqual(heard(mixed), [440, 1209, 620]);
  });

  it('the two of a dial or ringing tone, 40 Hz apart', () => {
    assert.deepEqual(heard(sound(200, i => sine(440)(i) + sine(480)(i))).sort(), [440, 480]);
  });

  it('the two of every key', () => {
    const pairs = [...'159D'].map(key => {
      const frame = new Int16Array(1600);
      digitTone(key).fill(frame);
      return heard(frame).sort((a, b) => a - b);
    });
    assert.deepEqual(pairs, [
      [697, 1209],
      [770, 1336],
      [852, 1477],
      [941, 1633],
    ]);
  });

  it('but none in silence, in noise, in a whistle that glides or in a tone that only begins', () => {
    assert.deepEqual(heard(sound(200, () => 0)), []);
    assert.deepEqual(heard(sound(200, () => (Math.random() - 0.5) * 10_000)), []);
    assert.deepEqual(
      heard(sound(200, i => 7000 * Math.sin(2 * Math.PI * ((300 * i) / 8000 + 1000 * (i / 8000) ** 2)))),
      [],
    );
    assert.deepEqual(heard(sound(200, i => (i < 1000 ? 0 : sine(440)(i)))), []);
  });

  it('and hardly ever in speech', () => {
    const spoken = speech('espeak-ng', SPOKEN);
    const windows = Array.from({ length: Math.floor(spoken.length / 800) - 1 }, (_, i) =>
      spoken.subarray(i * 800, i * 800 + 1600),
    );
    const mistaken = windows.filter(window => heard(window).length > 0);
    assert.ok(mistaken.length <= windows.length / 10, `${mistaken.length} of ${windows.length}`);
  });
});

describe('the phone tells speech from other sounds', () => {
  for (const [program, voice] of [
    ['espeak-ng', 'en-us'],
    ['espeak-ng', 'en-us+f3'],
    ['flite', 'slt'],
    ['flite', 'rms'],
    ['flite', 'kal'],
  ] as const) {
    it(`hears ${program} ${voice} speak`, () => {
      const judged = judgements(speech(program, SPOKEN, voice));
      assert.deepEqual([...new Set(judged)], ['speech']);
    });
  }

  it('hears one short word between silences', () => {
    const word = speech('espeak-ng', 'Hello');
    const second = new Int16Array(8000);
    second.set(word.subarray(0, 6000), 1000);
    assert.equal(classify(second), 'speech');
  });

  const others: [string, string, (i: number) => number][] = [
    ['silence', 'silence', () => 0],
    ['the line noise of silence', 'silence', () => (Math.random() - 0.5) * 20],
    ['one tone', 'tone', sine(440)],
    ['three tones', 'tone', i => sine(440)(i) + sine(620)(i) + sine(1000)(i)],
    ['a busy tone', 'tone', i => (i % 8000 < 4000 ? sine(480)(i) + sine(620)(i) : 0)],
    ['an information tone of three steps', 'tone', i => sine([950, 1400, 1800][Math.floor(i / 2640) % 3] ?? 0)(i)],
    ['white noise', 'noise', () => (Math.random() - 0.5) * 8000],
  ];
  for (const [name, expected, wave] of others) {
    it(`takes ${name} for ${expected}`, () => {
      assert.deepEqual([...new Set(judgements(sound(3000, wave)))], [expected]);
    });
  }
});

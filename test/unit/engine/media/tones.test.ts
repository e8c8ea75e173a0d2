import { strict as assert } from 'node:assert';
import { addDigitTone, loudness, toneAmplitude, ToneDetector } from '../../../../engine/media/tones.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import { parseTones } from '../../../../engine/media/sources/tone-source.ts';
import { drain, sine } from './signals.ts';

const options = { soundsDir: '/nowhere' };

describe('Tone detection', () => {
  it('measures the amplitude of a tone and nothing beside it', () => {
    const samples = sine(1000, 800, 6000);
    assert.ok(Math.abs(toneAmplitude(samples, 1000) - 6000) < 60);
    assert.ok(toneAmplitude(samples, 1200) < 60);
  });

  it('hears a tone once when it holds, not when it is short', () => {
    const heard: number[] = [];
    const detectors = [425, 1100].map(hz => new ToneDetector([hz], 100, () => heard.push(hz)));
    const push = (frame: Int16Array) => detectors.forEach(one => one.push(frame));
    for (let i = 0; i < 20; i++) push(sine(1100, 160));
    push(new Int16Array(160));
    for (let i = 0; i < 3; i++) push(sine(425, 160));
    assert.deepEqual(heard, [1100]);
  });

  it('hears tones that belong together only when all of them are there', () => {
    let heard = 0;
    const detector = new ToneDetector([480, 620], 100, () => (heard += 1));
    const busy = sine(480, 160).map((sample, at) => (sample + (sine(620, 160)[at] ?? 0)) / 2);
    for (const frame of [sine(480, 160), sine(620, 160), sine(1000, 160)])
      for (let i = 0; i < 10; i++) detector.push(frame);
    assert.equal(heard, 0);
    for (let i = 0; i < 10; i++) detector.push(busy);
    assert.equal(heard, 1);
  });

  it('a key tone consists of its two frequencies', () => {
    const samples = new Int16Array(800);
    addDigitTone(samples, '5', 0);
    assert.ok(
      toneAmplitude(samples, 770) > 9000 && toneAmplitude(samples, 1336) > 9000 && toneAmplitude(samples, 941) < 600,
    );
  });
});

describe('tone_stream', () => {
  it('plays on, off and frequency as written', async () => {
    const samples = drain(await openSource('tone_stream://%(200,100,440,620)', options));
    assert.equal(samples.length, 2400);
    const tone = samples.subarray(100, 1500);
    assert.ok(toneAmplitude(tone, 440) > 9000 && toneAmplitude(tone, 620) > 9000);
    assert.equal(loudness(samples.subarray(1600)), 0);
  });

  it('repeats a section with L and the whole with loops', async () => {
    const source = await openSource('tone_stream://L=3;%(20,20,500);%(40,0,700);loops=2', options);
    assert.equal(source.durationMs, 320);
    assert.equal(drain(source).length, 320 * 8);
  });

  it('that ends inside a frame stays ended', async () => {
    const source = await openSource('tone_stream://%(250,0,1000)', options);
    assert.equal(drain(source, 100).length, 13 * 160);
  });

  it('plays for ever with loops=-1, without a length', async () => {
    const source = await openSource('tone_stream://%(100,50,425);loops=-1', options);
    assert.equal(source.durationMs, undefined);
    assert.equal(drain(source, 500).length, 500 * 160);
  });

  it('v sets the level in dBm0', async () => {
    const level = async (spec: string): Promise<number> =>
      loudness(drain(await openSource(`tone_stream://${spec}`, options)).subarray(200, 1400));
    const ratio = (await level('v=-10;%(200,0,1000)')) / (await level('v=-30;%(200,0,1000)'));
    assert.ok(Math.abs(ratio - 10) < 0.3, String(ratio));
  });

  it('plays keys as their tones', async () => {
    const samples = drain(await openSource('tone_stream://d=100;w=100;18', options));
    assert.equal(samples.length, 3200);
    assert.ok(
      toneAmplitude(samples.subarray(0, 800), 1209) > 9000 && toneAmplitude(samples.subarray(1600, 2400), 852) > 9000,
    );
  });

  it('starts in the middle when asked', async () => {
    const source = await openSource('tone_stream://%(1000,0,440)', { ...options, seek: 4000 });
    assert.equal(source.durationMs, 500);
    assert.equal(drain(source).length, 4000);
  });

  for (const spec of [
    '',
    'hello',
    '%(100)',
    '%(1,2,99999)',
    '%(-1,0,400)',
    '%(a,b,c)',
    '%(0,0,400)',
    `${'%(1,1,400);'.repeat(600)}`,
  ]) {
    it(`refuses ${JSON.stringify(spec.slice(0, 20))}`, async () => {
      await assert.rejects(openSource(`tone_stream://${spec}`, options), { name: 'FileNotFoundError' });
    });
  }

  it('leaves out what takes no time, however often it is asked for', () => {
    assert.equal(parseTones('L=500;%(0,0,400);%(20,0,400);%(0.01,0,400)', 8000).sections.length, 1);
  });

  it('is parsed into sections', () => {
    const { sections, loops } = parseTones('%(2000,4000,440,480);loops=4', 8000);
    assert.deepEqual(
      [sections[0]?.on, sections[0]?.off, sections[0]?.frequencies, loops],
      [16_000, 32_000, [440, 480], 4],
    );
  });
});

describe('silence_stream', () => {
  it('lasts as long as written', async () => {
    const source = await openSource('silence_stream://250,1400', options);
    assert.deepEqual([source.durationMs, loudness(drain(source))], [250, 0]);
  });

  it('lasts for ever with -1', async () => {
    assert.equal(drain(await openSource('silence_stream://-1', options), 200).length, 32_000);
  });
});

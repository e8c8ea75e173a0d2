import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Speech as SpeechRequest } from '#flow/action';
import { createSpeech, type SpeechOptions } from '../../../../media-app/speech/speech.ts';

const say = (text: string, more: Partial<SpeechRequest> = {}): SpeechRequest => ({
  text,
  language: '',
  provider: 'provider_b',
  voice_id: '',
  ...more,
});

/** Format, length and loudness of a WAV file, read by hand. */
const listen = async (file: string) => {
  const wav = await readFile(file);
  const at = wav.indexOf('data');
  const size = wav.readUInt32LE(at + 4);
  const samples = Array.from({ length: size / 2 }, (_, index) => wav.readInt16LE(at + 8 + index * 2));
  return {
    format: wav.readUInt16LE(20),
    channels: wav.readUInt16LE(22),
    rate: wav.readUInt32LE(24),
    bits: wav.readUInt16LE(34),
    whole: at + 8 + size === wav.length,
    seconds: samples.length / 8000,
    loudest: samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0),
  };
};

describe('text to speech', function () {
  this.timeout(30_000);
  let dir = '';
  let warnings: Record<string, unknown>[] = [];
  const speech = (more: Partial<SpeechOptions> = {}) =>
    createSpeech({ cacheDir: dir, log: { warn: fields => void warnings.push(fields) }, ...more });

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'speech-'));
    warnings = [];
  });
  afterEach(() => rm(dir, { recursive: true }));

  const voices: [string, Partial<SpeechRequest>][] = [
    ['English by provider_b', {}],
    ['English by provider_c', { provider: 'provider_c' }],
    ['German by provider_b', { language: 'de-DE' }],
    ['Mandarin', { language: 'zh-CN', text: '你好' }],
    ['a chosen voice of provider_b', { voice_id: 'rms', language: 'en-GB' }],
    ['a chosen voice of provider_c', { provider: 'provider_c', voice_id: 'en-us+f3' }],
    ['a language with another name for its voice', { language: 'nn-NO' }],
  ];
  for (const [title, more] of voices)
    it(`${title} is an audible telephone WAV`, async () => {
      const file = await speech().synthesize(say('Hello there, how are you?', more));
      assert.ok(path.isAbsolute(file));
      const heard = await listen(file);
      const { seconds, loudest, ...shape } = heard;
      assert.deepEqual(shape, { format: 1, channels: 1, rate: 8000, bits: 16, whole: true });
      assert.ok(seconds > 0.3 && seconds < 10 && loudest > 3000, JSON.stringify(heard));
      assert.deepEqual(warnings, []);
    });

  it('takes a text that looks like options or a file name for a text', async () => {
    const file = await speech().synthesize(say('--help -f /etc/passwd\n-o /tmp/x', { provider: 'provider_c' }));
    assert.ok((await listen(file)).seconds > 1);
  });

  it('obeys SSML where the provider can, and never speaks the markup', async () => {
    const one = speech();
    const seconds = async (text: string, provider: string) =>
      (await listen(await one.synthesize(say(text, { provider })))).seconds;
    const ssml = '<speak>Hello <break time="2s"/> there</speak>';
    for (const provider of ['provider_b', 'provider_c']) {
      const plain = await seconds('Hello there', provider);
      const marked = await seconds(ssml, provider);
      const pause = provider === 'provider_c' ? 2 : 0;
      assert.ok(Math.abs(marked - plain - pause) < 0.7, `${provider}: ${plain} ${marked}`);
    }
  });

  it('plays no file of the machine that SSML names', async () => {
    const one = speech();
    const seconds = async (text: string) =>
      (await listen(await one.synthesize(say(text, { provider: 'provider_c', language: 'en-GB' })))).seconds;
    const secret = await one.synthesize(say('A recording of somebody else that takes a good while to listen to.'));
    const plain = await seconds('<speak>one two</speak>');
    for (const markup of [`<audio src="${secret}"/>`, `<AUDIO\nsrc='${secret}'>`, `<au<audio>dio src="${secret}"/>`]) {
      const marked = await seconds(`<speak>one ${markup} two</speak>`);
      assert.ok(marked < plain + 1, `${markup}: ${plain} ${marked}`);
    }
  });

  it('speaks a plain text with < and & as it stands', async () => {
    const file = await speech().synthesize(say('1 < 2 & 3 > 2', { provider: 'provider_c' }));
    assert.ok((await listen(file)).seconds > 1);
  });

  it('falls back to the other provider with its default voice', async () => {
    const file = await speech().synthesize(say('Hello', { voice_id: 'en-gb' }));
    assert.ok((await listen(file)).loudest > 3000);
    assert.equal(warnings[0]?.provider, 'flite');
    await speech().synthesize(say('Hello', { provider: 'provider_c', voice_id: 'slt' }));
    assert.equal(warnings[1]?.provider, 'espeak-ng');
  });

  const refused: [string, SpeechRequest][] = [
    ['a language nobody speaks', say('Hi', { language: 'xx-XX' })],
    ['a voice that is a path', say('Hi', { language: 'de', voice_id: '../../etc/passwd' })],
    ['a language that is an option', say('Hi', { language: '--stdout' })],
    ['a text without end', say('x'.repeat(10_001))],
  ];
  for (const [title, request] of refused)
    it(`refuses ${title} and leaves no file`, async () => {
      await assert.rejects(speech().synthesize(request));
      assert.deepEqual(await readdir(dir), []);
    });

  it('makes the same speech once, for all who ask at the same time and later', async () => {
    const one = speech();
    const files = await Promise.all([1, 2, 3].map(() => one.synthesize(say('Welcome'))));
    assert.equal(new Set(files).size, 1);
    const before = performance.now();
    assert.equal(await one.synthesize(say('Welcome')), files[0]);
    assert.ok(performance.now() - before < 50);
    assert.equal(await speech().synthesize(say('Welcome')), files[0], 'the cache outlives the process');
    assert.equal((await readdir(dir)).length, 1);
  });

  it('knows which providers are installed', async () => {
    assert.deepEqual(await speech().providers(), ['flite', 'espeak-ng']);
  });

  it('keeps voices, languages and texts apart', async () => {
    const one = speech();
    const requests = [
      say('Hi'),
      say('Hi', { voice_id: 'rms' }),
      say('Hi', { provider: 'provider_c' }),
      say('Hi', { language: 'de' }),
      say('Ho'),
    ];
    const files = await Promise.all(requests.map(request => one.synthesize(request)));
    assert.equal(new Set(files).size, requests.length);
  });

  it('makes a file again that somebody deleted', async () => {
    const one = speech();
    const file = await one.synthesize(say('Hi'));
    await rm(file);
    assert.equal(await one.synthesize(say('Hi')), file);
    assert.ok((await listen(file)).loudest > 3000);
  });

  it('deletes the least recently used when the cache is full', async () => {
    const sizes = ['first', 'second', 'third'].map(async which => {
      const file = await speech().synthesize(say(`The ${which} one`));
      const { length } = await readFile(file);
      await rm(file);
      return length;
    });
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    const one = speech({ maxBytes: total - 1 });
    const first = await one.synthesize(say('The first one'));
    const second = await one.synthesize(say('The second one'));
    await one.synthesize(say('The first one'));
    const third = await one.synthesize(say('The third one'));
    const kept = (await readdir(dir)).sort();
    assert.deepEqual(kept, [first, third].map(file => path.basename(file)).sort());
    assert.equal(kept.includes(path.basename(second)), false);
  });

  it('clears away what an earlier process left unfinished, and counts what it finished', async () => {
    const [half, old] = ['half.part.wav', `${'0'.repeat(64)}.wav`].map(name => path.join(dir, name));
    for (const file of [half, old]) {
      assert.ok(file);
      await writeFile(file, Buffer.alloc(50_000));
      await utimes(file, 1, 1);
    }
    const file = await speech({ maxBytes: 40_000 }).synthesize(say('Hi'));
    assert.deepEqual(await readdir(dir), [path.basename(file)]);
  });

  it('lets one caller give up without taking the speech from another', async () => {
    const one = speech();
    const impatient = new AbortController();
    const given = one.synthesize(say('Hello there'), impatient.signal);
    const waiting = one.synthesize(say('Hello there'));
    impatient.abort(new Error('hung up'));
    await assert.rejects(given, /hung up/);
    assert.ok((await listen(await waiting)).seconds > 0.3);
    await assert.rejects(one.synthesize(say('Hello there'), impatient.signal), /hung up/);
  });

  it('makes many speeches with few programs at once', async () => {
    const one = speech({ parallel: 2 });
    const texts = Array.from({ length: 8 }, (_, index) => say(`Number ${index}`, { provider: 'provider_c' }));
    assert.equal(new Set(await Promise.all(texts.map(text => one.synthesize(text)))).size, 8);
  });
});

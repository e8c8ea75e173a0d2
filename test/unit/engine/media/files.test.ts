import { strict as assert } from 'node:assert';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { encode } from '../../../../engine/media/codecs/g711.ts';
import { Recorder } from '../../../../engine/media/recorder.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import { Turns } from '../../../../engine/media/sources/turns.ts';
import { parseWav, wavHeader } from '../../../../engine/media/sources/wav-format.ts';
import { loudness, toneAmplitude } from '../../../../engine/media/tones.ts';
import { drain, sine } from './signals.ts';

function wav(samples: Int16Array, rate = 8000, channels = 1): Buffer {
  return Buffer.concat([
    wavHeader(rate, channels, samples.byteLength),
    Buffer.from(samples.buffer, 0, samples.byteLength),
  ]);
}

/** Amplitude of a tone in the middle of some material, away from its edges. */
function inside(samples: Int16Array, frequency: number): number {
  return toneAmplitude(samples.subarray(400, samples.length - 400), frequency);
}

const run = promisify(execFile);

describe('Playing files', () => {
  let soundsDir: string;
  before(async () => (soundsDir = await mkdtemp(join(tmpdir(), 'trunkline-sounds-'))));
  after(() => rm(soundsDir, { recursive: true }));

  async function play(name: string, bytes: Buffer, spec = name): Promise<Int16Array> {
    await writeFile(join(soundsDir, name), bytes);
    return drain(await openSource(spec, { soundsDir }));
  }

  for (const rate of [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000]) {
    it(`${rate} Hz: a tone keeps its pitch, level and length`, async () => {
      const samples = await play(`r${rate}.wav`, wav(sine(1000, rate, 8000, rate), rate));
      assert.equal(samples.length, 8000);
      assert.ok(Math.abs(inside(samples, 1000) - 8000) < 100, String(inside(samples, 1000)));
    });
  }

  it('what is above telephone bandwidth does not fold back into it', async () => {
    const samples = await play('high.wav', wav(sine(6000, 48_000, 8000, 48_000), 48_000));
    assert.ok(loudness(samples.subarray(400, 7600)) < 30, String(loudness(samples)));
  });

  it('stereo is heard from both sides', async () => {
    const [left, right] = [sine(500, 4000), sine(900, 4000)];
    const samples = await play(
      'stereo.wav',
      wav(
        Int16Array.from({ length: 8000 }, (_, i) => (i % 2 ? right : left)[i >> 1] ?? 0),
        8000,
        2,
      ),
    );
    assert.ok(Math.abs(inside(samples, 500) - 4000) < 200 && Math.abs(inside(samples, 900) - 4000) < 200);
  });

  for (const [name, tag, bits] of [
    ['8-bit PCM', 1, 8],
    ['A-law', 6, 8],
    ['µ-law', 7, 8],
  ] as const) {
    it(`${name} is understood`, async () => {
      const tone = sine(700, 4000);
      const data = Buffer.alloc(4000);
      if (tag === 1) tone.forEach((sample, i) => data.writeUInt8((sample >> 8) + 128, i));
      else encode(tag === 6 ? 'PCMA' : 'PCMU', tone, 0, 4000, data);
      const header = wavHeader(8000, 1, 4000);
      header.writeUInt16LE(tag, 20);
      header.writeUInt16LE(bits, 34);
      assert.ok(Math.abs(inside(await play(`tag${tag}.wav`, Buffer.concat([header, data])), 700) - 8000) < 300);
    });
  }

  it('headerless files are read by their extension', async () => {
    const tone = sine(600, 16_000, 8000, 16_000);
    const samples = await play('fork_1.tmp.r16', Buffer.from(tone.buffer));
    assert.equal(samples.length, 8000);
    assert.ok(Math.abs(inside(samples, 600) - 8000) < 100);
  });

  it('seeks by samples, with an option or @@', async () => {
    const tone = Int16Array.from({ length: 8000 }, (_, i) => i);
    assert.equal((await play('ramp.wav', wav(tone), 'ramp.wav@@4000'))[0], 4000);
    const source = await openSource('ramp.wav', { soundsDir, seek: 7920 });
    assert.deepEqual(
      [source.position, source.durationMs, drain(source).length, source.position],
      [7920, 10, 160, 8000],
    );
  });

  it('a list plays without a gap', async () => {
    await writeFile(join(soundsDir, 'a.wav'), wav(new Int16Array(100).fill(1)));
    const samples = await play(
      'b.wav',
      wav(new Int16Array(60).fill(2)),
      '{loops=1}file_string://a.wav!b.wav!silence_stream://20',
    );
    assert.deepEqual([samples[99], samples[100], samples[159], samples[160], samples.length], [1, 2, 2, 0, 320]);
  });

  it('a header that a crash left behind means to the end of the file', async () => {
    const bytes = wav(sine(500, 1600));
    bytes.writeUInt32LE(0, 40);
    assert.equal((await play('crashed.wav', bytes)).length, 1600);
  });

  it('a file that changes is read again', async () => {
    await play('changing.wav', wav(new Int16Array(160).fill(1)));
    assert.equal((await play('changing.wav', wav(new Int16Array(320).fill(2))))[0], 2);
  });

  it('other formats go through ffmpeg', async function () {
    if (spawnSync('ffmpeg', ['-version']).error) this.skip();
    await writeFile(join(soundsDir, 'tone.wav'), wav(sine(1000, 8000)));
    const made = spawnSync('ffmpeg', [
      '-v',
      'error',
      '-y',
      '-i',
      join(soundsDir, 'tone.wav'),
      join(soundsDir, 'tone.flac'),
    ]);
    assert.equal(made.status, 0);
    assert.ok(Math.abs(inside(drain(await openSource('tone.flac', { soundsDir })), 1000) - 8000) < 200);
  });

  it('an MP3 of any rate, mono or stereo, keeps its pitch and length', async function () {
    if (spawnSync('ffmpeg', ['-version']).error) this.skip();
    const kinds = [22_050, 44_100, 48_000].flatMap(rate => [1, 2].map(channels => ({ rate, channels })));
    const outputs = kinds.flatMap(({ rate, channels }) => [
      ...['-map', '0', '-ar', String(rate), '-ac', String(channels)],
      join(soundsDir, `${rate}-${channels}.mp3`),
    ]);
    const tone = ['-f', 'lavfi', '-i', 'sine=1000:r=48000:d=1'];
    assert.equal(spawnSync('ffmpeg', ['-v', 'error', '-y', ...tone, ...outputs]).status, 0);
    await Promise.all(
      kinds.map(async ({ rate, channels }) => {
        const samples = drain(await openSource(`${rate}-${channels}.mp3`, { soundsDir }));
        const what = `${rate} Hz, ${channels}: ${samples.length} samples, ${inside(samples, 1000)}`;
        assert.ok(Math.abs(samples.length - 8000) <= 800, what); // the format has whole blocks, and a lead-in
        assert.ok(inside(samples, 1000) > 0.9 * Math.SQRT2 * loudness(samples.subarray(800, 7200)), what);
      }),
    );
  });

  it('many who hear a long file share it, at once and later', async () => {
    await writeFile(join(soundsDir, 'long.wav'), wav(new Int16Array(3_000_000)));
    const before = process.memoryUsage().arrayBuffers;
    const open = (): Promise<unknown>[] => Array.from({ length: 10 }, () => openSource('long.wav', { soundsDir }));
    const hearing = [...(await Promise.all(open())), ...(await Promise.all(open()))];
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.ok(hearing.length === 20 && grown < 20e6, `${grown} bytes for a file of six million`);
  });

  it('at most eight files are converted at once; the others have their turn, also behind broken ones', async () => {
    const turns = new Turns(8);
    let [running, most] = [0, 0];
    const work = async (at: number): Promise<number> => {
      most = Math.max(most, (running += 1));
      await new Promise(resolve => setImmediate(resolve));
      running -= 1;
      if (at % 5 === 0) throw new Error('broken');
      return at;
    };
    const results = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => turns.take(() => work(at))));
    assert.deepEqual([most, results.filter(one => one.status === 'rejected').length], [8, 8]);
  });

  it('a list of 200 files plays each of them, without a gap', async () => {
    const files = Array.from({ length: 200 }, (_, at) => `n${at}.wav`);
    await Promise.all(files.map((name, at) => writeFile(join(soundsDir, name), wav(new Int16Array(50).fill(at + 1)))));
    const samples = drain(await openSource(`file_string://${files.join('!')}`, { soundsDir }));
    assert.equal(samples.length, 63 * 160); // the last frame is filled up with silence
    assert.ok(samples.every((sample, at) => sample === (at < 200 * 50 ? Math.floor(at / 50) + 1 : 0)));
  });

  for (const spec of ['missing.wav', '', 'empty.xyz', 'bad\0name', 'gopher://x', 'file_string://', '/', 'fake.mp3']) {
    it(`refuses ${JSON.stringify(spec)}`, async () => {
      await writeFile(join(soundsDir, 'empty.xyz'), '');
      await writeFile(join(soundsDir, 'fake.mp3'), '#EXTM3U\n/etc/passwd\n');
      await assert.rejects(openSource(spec, { soundsDir }), { name: 'FileNotFoundError' });
    });
  }

  it('no header crashes the reader', () => {
    const start = wav(new Int16Array(20));
    fc.assert(
      fc.property(fc.nat(60), fc.uint8Array({ maxLength: 40 }), (at, bytes) => {
        const broken = Buffer.concat([start.subarray(0, at), Buffer.from(bytes), start.subarray(at)]);
        const layout = parseWav(broken);
        if (layout) assert.ok(layout.start <= layout.end && layout.end <= broken.length);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('Recording', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'trunkline-recordings-'))));
  afterEach(() => rm(folder, { recursive: true }));

  const said = sine(500, 160);
  const heard = sine(1000, 160);

  async function record(options: Parameters<typeof Recorder.open>[1], frames: number): Promise<Recorder> {
    const recorder = await Recorder.open(join(folder, 'deep', 'er', 'r.wav'), options);
    for (let i = 0; i < frames; i++) recorder.frame(said, heard);
    return recorder;
  }

  async function read(path: string): Promise<Int16Array> {
    return drain(await openSource(path, { soundsDir: '/' }));
  }

  it('a mix holds both voices, and the file is as long as the call', async () => {
    const recorder = await record({}, 100);
    assert.deepEqual(await recorder.stop(), { samples: 16_000, duration_ms: 2000, bytes: 32_044 });
    const samples = await read(recorder.path);
    assert.equal(samples.length, 16_000);
    assert.ok(inside(samples, 500) > 7800 && inside(samples, 1000) > 7800);
  });

  it('the party alone is recorded without what it hears', async () => {
    const recorder = await record({ layout: 'said' }, 50);
    await recorder.stop();
    const samples = await read(recorder.path);
    assert.ok(inside(samples, 500) > 7800 && inside(samples, 1000) < 100);
  });

  it('stereo has the party left and the other side right', async () => {
    const recorder = await record({ layout: 'stereo' }, 50);
    await recorder.stop();
    const bytes = await readFile(recorder.path);
    assert.equal(parseWav(bytes)?.channels, 2);
    const left = Int16Array.from({ length: 8000 }, (_, i) => bytes.readInt16LE(44 + i * 4));
    assert.ok(inside(left, 500) > 7800 && inside(left, 1000) < 100);
  });

  it('a pause leaves out what is said in it', async () => {
    const recorder = await record({}, 10);
    recorder.pause();
    for (let i = 0; i < 100; i++) recorder.frame(said, heard);
    recorder.resume();
    recorder.frame(said, heard);
    assert.equal((await recorder.stop()).samples, 11 * 160);
  });

  it('on a disk that takes half of it fails, and does not say that it is whole', async () => {
    const program = `
      import { Recorder } from './engine/media/recorder.ts';
      const recorder = await Recorder.open(process.argv[1]);
      for (let i = 0; i < 30; i++) recorder.frame(new Int16Array(160), new Int16Array(160));
      console.log(await recorder.stop().then(() => 'whole', error => error.code));
    `;
    const file = join(folder, 'r.wav');
    const limited = 'trap "" XFSZ; ulimit -f 10; exec "$@"'; // 10 units of half or a whole KB
    const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', program, file];
    const { stdout } = await run('sh', ['-c', limited, 'sh', ...node]);
    assert.equal(stdout.trim(), 'EFBIG');
  });

  it('ends at its limit and says so once', async () => {
    const recorder = await Recorder.open(join(folder, 'r.wav'), { maxMs: 200 });
    const ends: string[] = [];
    recorder.on('ended', reason => ends.push(reason));
    for (let i = 0; i < 30; i++) recorder.frame(said, heard);
    assert.deepEqual([ends, (await recorder.stop()).duration_ms], [['limit'], 200]);
  });

  it('ends when the party has been quiet for long enough', async () => {
    const recorder = await Recorder.open(join(folder, 'r.wav'), { silence: { threshold: 200, seconds: 1 } });
    let end = '';
    recorder.on('ended', reason => (end = reason));
    const quiet = new Int16Array(160).fill(100);
    for (let i = 0; i < 49; i++) recorder.frame(quiet, heard);
    recorder.frame(said, heard);
    for (let i = 0; i < 49; i++) recorder.frame(quiet, heard);
    assert.equal(end, '');
    recorder.frame(quiet, heard);
    assert.equal(end, 'silence');
    await recorder.stop();
  });

  it('a crash leaves a file that plays: the header follows what is written', async () => {
    const recorder = await record({}, 60);
    const { path } = recorder;
    while ((await readFile(path)).length < 16_044 || parseWav(await readFile(path))?.end === 44)
      await new Promise(setImmediate);
    const bytes = await readFile(path); // stop() has not been called, as after a crash
    assert.ok(bytes.readUInt32LE(40) >= 16_000 && bytes.readUInt32LE(40) <= bytes.length - 44);
    assert.equal(bytes.readUInt32LE(4), bytes.readUInt32LE(40) + 36);
    await recorder.stop();
  });

  it('refuses kinds of files it cannot write, and folders it may not', async () => {
    await assert.rejects(Recorder.open(join(folder, 'x.mp3')), TypeError);
    await assert.rejects(Recorder.open('/dev/null/below/x.wav'));
  });
});

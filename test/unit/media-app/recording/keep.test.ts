import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EMPTY_ID, newId } from '#contract/ids';
import { newRecording, type Recording, recordingFiles } from '#contract/recording';
import { timestamp } from '#contract/time';
import { keepRecording } from '../../../../media-app/recording/keep.ts';
import { Peaks } from '../../../../media-app/recording/peaks.ts';
import { SilenceWatch } from '../../../../media-app/recording/silence-watch.ts';
import { amplitudeOf } from '../../../conformance/freeswitch/fork-server.ts';
import { formatWav, parseWav } from '../../../../scripts/phone/wav.ts';

/** A stereo capture as a media server writes it. */
const capture = (said: number[], heard: number[]): Buffer => {
  const wav = formatWav(Int16Array.from(said.flatMap((sample, at) => [sample, heard[at] ?? 0])));
  wav.writeUInt16LE(2, 22);
  return wav;
};

const many = (samples: number, value: (at: number) => number): number[] =>
  Array.from({ length: samples }, (_, at) => value(at));

describe('what was captured of a call', () => {
  let folder: string;
  let recording: Recording;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'trunkline-recording-'));
    recording = newRecording({
      id: newId(),
      customer_id: newId(),
      activeflow_id: EMPTY_ID,
      reference_type: 'call',
      reference_id: newId(),
      on_end_flow_id: EMPTY_ID,
      tm_create: timestamp(),
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const path = (what: keyof ReturnType<typeof recordingFiles>): string => join(folder, recordingFiles(recording)[what]);
  const samples = async (what: 'in' | 'out' | 'mixed'): Promise<number[]> => [...parseWav(await readFile(path(what)))];

  it('becomes a file of what the party says, one of what it hears, and one of both without overflow', async () => {
    const [said, heard] = [many(40_001, at => at % 30_000), many(40_001, at => (at % 2 ? 20_000 : -100))];
    await writeFile(path('capture'), capture(said, heard));
    const { complete, files } = await keepRecording(folder, recording, true);
    assert.equal(complete, true);
    assert.deepEqual(
      files.map(({ direction, duration, filesize }) => [direction, duration, filesize]),
      [
        ['in', 5, 80_046],
        ['out', 5, 80_046],
      ],
    );
    assert.deepEqual(await samples('in'), said);
    assert.deepEqual(await samples('out'), heard);
    const mixed = await samples('mixed');
    assert.deepEqual([mixed[2], mixed[29_999]], [2 - 100, 32_767]);
    assert.deepEqual(
      (await readdir(folder)).sort(),
      ['contents', 'in', 'mixed', 'out'].map(one => path(one as 'in').slice(folder.length + 1)).sort(),
    );
  });

  it('of a conference becomes one file of everybody, named as the specification has it', async () => {
    recording = { ...recording, reference_type: 'confbridge' };
    const everybody = many(20_001, at => (at % 2 ? at : 1 - at));
    await writeFile(path('capture'), formatWav(Int16Array.from(everybody)));
    const { files } = await keepRecording(folder, recording, true);
    assert.deepEqual(
      files.map(({ filename, direction, duration, filesize }) => [filename, direction, duration, filesize]),
      [[recordingFiles(recording).in, '', 2.5, 40_046]],
    );
    assert.deepEqual(await samples('in'), everybody);
    assert.equal(files[0]?.peaks.at(-1), Math.round((19_999 / 32_768) * 1000) / 1000);
    assert.equal((await readdir(folder)).length, 2);
  });

  it('at 16 or 48 kHz is kept at 8, with what can be heard there and nothing folded back from above', async () => {
    recording = { ...recording, reference_type: 'confbridge' };
    const said = [1000, 3000, 4800, 6700];
    for (const rate of [16_000, 48_000]) {
      const wav = formatWav(
        Int16Array.from(
          many(rate, at => said.reduce((sum, hz) => sum + 6000 * Math.sin((2 * Math.PI * hz * at) / rate), 0)),
        ),
      );
      wav.writeUInt32LE(rate, 24);
      await writeFile(path('capture'), wav);
      const { files } = await keepRecording(folder, recording, true);
      assert.deepEqual([files[0]?.duration, files[0]?.filesize], [1, 16_044]);
      assert.equal((await readFile(path('in'))).readUInt32LE(24), 8000);
      const kept = Int16Array.from(await samples('in')).subarray(400, 7600);
      const levels = [...said.slice(0, 2), 8000 - 4800, 8000 - 6700].map(hz => Math.round(amplitudeOf(kept, hz, 8000)));
      assert(
        levels.slice(0, 2).every(one => Math.abs(one - 6000) < 60) && levels.slice(2).every(one => one < 12),
        `${rate}: ${levels.join()}`,
      );
      await rm(path('contents'));
    }
  });

  it('with another number of channels than a call has is not cut in two', async () => {
    await writeFile(path('capture'), formatWav(Int16Array.from([1, 2, 3])));
    await assert.rejects(keepRecording(folder, recording, true), /1 channels instead of 2/);
  });

  it('is read as far as it got when its header does not know its length', async () => {
    const wav = capture(
      many(8000, () => 5),
      many(8000, () => 7),
    );
    wav.writeUInt32LE(0xffffffff, 40);
    await writeFile(path('capture'), wav);
    await truncate(path('capture'), 44 + 4 * 4000 + 3);
    const { files, complete } = await keepRecording(folder, recording, false);
    assert.deepEqual([files[0]?.duration, complete], [0.5, false]);
    assert.equal((await samples('out')).length, 4000);
  });

  it('is kept once, whoever tries again', async () => {
    await writeFile(path('capture'), capture([1, 2], [3, 4]));
    const first = await keepRecording(folder, recording, true);
    assert.deepEqual(await keepRecording(folder, recording, false), first);
  });

  for (const [what, bytes] of [
    ['nothing', undefined],
    ['an empty file', Buffer.alloc(0)],
    ['noise', Buffer.alloc(200, 7)],
    ['one channel', formatWav(Int16Array.from([1, 2, 3]))],
  ] as const)
    it(`is refused when it is ${what}, and nothing half made is left`, async () => {
      if (bytes) await writeFile(path('capture'), bytes);
      await assert.rejects(keepRecording(folder, recording, true));
      assert.equal((await readdir(folder)).length, bytes ? 1 : 0);
    });

  it('is an empty recording when the call ended at once', async () => {
    await writeFile(path('capture'), capture([], []));
    assert.deepEqual((await keepRecording(folder, recording, true)).files[0]?.peaks, []);
  });

  it('has at most 1000 peaks, none for less than 10 ms', () => {
    for (const [length, count] of [
      [80, 1],
      [81, 2],
      [80_000, 1000],
      [80_001, 988],
      [28_800_000, 1000],
    ] as const) {
      const peaks = new Peaks(length);
      for (let at = 0; at < length; at++) peaks.take(at === 3 ? -32_768 : 0);
      const all = peaks.all();
      assert.deepEqual([all.length, all[0], all[1] ?? 0], [count, 1, 0], `${length}`);
    }
  });

  it('tells that the party is silent, counted in audio and whatever the party hears', async () => {
    const loud = (from: number, to: number) => (at: number) => (at >= from && at < to ? (at % 2 ? 3000 : -3000) : 0);
    const said = many(8000 * 3, loud(4000, 15_000));
    await writeFile(
      path('capture'),
      capture(
        said.slice(0, 12_000),
        many(12_000, () => 9000),
      ),
    );
    let silent = false;
    const heard = new Promise<void>(resolve => {
      const watch = new SilenceWatch(path('capture'), 1, () => {
        silent = true;
        watch.stop();
        resolve();
      });
    });
    await new Promise(resolve => setTimeout(resolve, 500));
    assert.equal(silent, false, 'the silence before the party spoke was too short');
    await writeFile(
      path('capture'),
      capture(
        said,
        many(said.length, () => 9000),
      ),
    );
    await heard;
  });
});

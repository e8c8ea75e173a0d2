import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTones } from '../../../scripts/phone/tones.ts';
import { parseWav } from '../../../scripts/phone/wav.ts';
import { createHoldMusic, holdMusicWav } from '../../../media-app/media/hold-music.ts';

describe('music on hold', () => {
  const music = parseWav(holdMusicWav());

  it('is heard at any moment, and is never loud', () => {
    for (let at = 0; at + 1600 <= music.length; at += 1600)
      assert(findTones(music.subarray(at, at + 1600)).length > 0, `at ${at / 8} ms`);
    const loudest = music.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    assert(loudest > 2000 && loudest < 8000, `its loudest sample is ${loudest}`);
  });

  it('goes from its end to its beginning without a click', () => {
    const steps = music.map((sample, at) => Math.abs(sample - (music[(at + music.length - 1) % music.length] ?? 0)));
    assert((steps[0] ?? 0) <= steps.subarray(1).reduce((most, step) => Math.max(most, step), 0));
  });

  it('is written once, whole', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'music-'));
    try {
      const where = createHoldMusic(folder);
      const [one, two] = await Promise.all([where(), where()]);
      assert.equal(one, two);
      assert.deepEqual(await readFile(one), holdMusicWav());
      assert.deepEqual(await readdir(folder), [one.slice(folder.length + 1)]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

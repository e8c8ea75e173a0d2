import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lanes, runTasks } from '../../../scripts/test/lanes.ts';

const FILES = {
  'passes.cjs': `it('passes', () => {}); it('is left out');`,
  'fails.cjs': `it('fails', () => { throw new Error('on purpose'); });`,
  'no-javascript.cjs': `it('is never read`,
  'dies.cjs': `it('takes the lane along', () => process.kill(process.pid, 'SIGKILL'));`,
  'leaves.cjs': `it('leaves something behind', () => void setImmediate(() => setImmediate(() => { throw new Error('late'); })));`,
  'passes-too.cjs': `it('passes, whatever went before', done => void setTimeout(done, 20));`,
};

describe('the lanes that npm test runs files in', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'trunkline-lanes-'));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('run every file once, whatever the one before it did, and count what dies, comes too late or does not load as failed', async function () {
    this.timeout(30_000);
    const files = Object.keys(FILES).map(name => join(folder, name));
    const said: string[] = [];
    const results = await runTasks(lanes('some', files, 1, []), { width: 1, say: text => said.push(text) });
    const sum = (key: 'passed' | 'failed' | 'skipped') => results.reduce((total, one) => total + one[key], 0);
    assert.deepEqual([results.length, sum('passed'), sum('failed'), sum('skipped')], [2, 3, 4, 1], said.join(''));
    assert.match(said.join(''), /some died in .*dies\.cjs/);
  });
});

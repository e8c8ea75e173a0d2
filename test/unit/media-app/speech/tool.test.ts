import { strict as assert } from 'node:assert';
import { isInstalled, runTool, type ToolRun } from '../../../../media-app/speech/tool.ts';

const run = (more: Partial<ToolRun>): Promise<Buffer> =>
  runTool({
    command: 'cat',
    args: [],
    input: 'hi',
    timeout_ms: 5000,
    max_bytes: 100,
    signal: new AbortController().signal,
    ...more,
  });

describe('a program that makes speech', () => {
  it('gets its text by standard input and answers by standard output', async () => {
    assert.equal((await run({})).toString(), 'hi');
  });

  const failures: [string, Partial<ToolRun>, RegExp][] = [
    ['that is missing', { command: 'no-such-program' }, /ENOENT/],
    ['that fails', { command: 'ls', args: ['/no/such/folder'] }, /cannot access/],
    ['that fails without a word', { command: 'false' }, /ended with 1/],
    ['that writes too much', { input: 'x'.repeat(1000) }, /more than 100 bytes/],
    ['that writes without end', { command: 'yes', input: '' }, /more than 100 bytes/],
    ['that takes too long', { command: 'sleep', args: ['60'], timeout_ms: 50 }, /longer than 50 ms/],
    ['that nobody waits for', { signal: AbortSignal.abort() }, /aborted/],
  ];
  for (const [title, more, message] of failures)
    it(`${title} is an error`, async () => assert.rejects(run(more), message));

  it('that does not read its text is judged by its result', async () => {
    assert.equal((await run({ command: 'true', input: 'x'.repeat(1_000_000) })).length, 0);
  });

  it('can be looked for', async () => {
    assert.equal(await isInstalled('espeak-ng', ['--version']), true);
    assert.equal(await isInstalled('no-such-program', []), false);
  });
});

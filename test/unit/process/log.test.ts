import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../support/sources.ts';

const program = `
  import { createLog } from '${join(ROOT, 'process/log.ts')}';
  const log = createLog('media-app', 'info');
  process.once('SIGTERM', () => { log.error('one'); log.error('two'); process.exit(3); });
  log.info('up');
  setInterval(() => {}, 1000);
`;

describe('the log of a process', function () {
  this.timeout(20_000);

  it('does not keep a process whose supervisor was killed from ending', async () => {
    const args = ['--import', 'tsx', '--input-type=module', '-e', program];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    await once(child.stdout, 'close');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const tooLong = setTimeout(() => child.kill('SIGKILL'), 5000);
    assert.deepEqual(await ended, [3, null]);
    clearTimeout(tooLong);
  });
});

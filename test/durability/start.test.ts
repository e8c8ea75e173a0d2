import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { anyRunning, Child } from '../../scripts/start/child.ts';
import { askHealth } from '../../scripts/start/health.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { waitGone } from '../../scripts/start/processes.ts';
import type { RunFile } from '../../scripts/start/run-file.ts';
import { ROOT } from '../support/sources.ts';

const READY = /press Ctrl-C|does not stay|already runs/;

interface Started {
  child: Child;
  lines: string[];
}

describe('npm start', function () {
  this.timeout(90_000);
  let dataDir = '';
  let env: NodeJS.ProcessEnv = {};
  let baseUrl = '';
  let up: Started | undefined;

  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'trunkline-start-'));
    const [http, sip] = await freePorts(2);
    baseUrl = `http://127.0.0.1:${http}`;
    const ports = { HTTP_PORT: String(http), SIP_PORT: String(sip), RTP_PORTS: '62000-62200' };
    env = { ...process.env, ...ports, DATA_DIR: dataDir, npm_lifecycle_event: '' };
  });
  after(async () => {
    await up?.child.stop(30_000);
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = async (more: NodeJS.ProcessEnv = {}): Promise<Started> => {
    const lines: string[] = [];
    const child = await Child.startUntil(
      {
        command: 'bash',
        args: [join(ROOT, 'scripts/run'), 'start'],
        env: { ...env, ...more },
        stopSignal: 'SIGINT',
        onLine: line => lines.push(line),
      },
      line => READY.test(line),
      60_000,
    );
    return { child, lines };
  };

  /** What the test before left running, or a new one. */
  const running = async (): Promise<Started> => (up?.child.running ? up : (up = await start()));

  const processes = (): RunFile['processes'] =>
    (JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as RunFile).processes;
  const children = (): number[] => Object.values(processes()).map(one => one.pid);

  const welcome = (): string => readFileSync(join(dataDir, 'welcome.json'), 'utf8');

  it('is ready when health is 200, prints what it made once, and leaves nothing running after Ctrl-C', async () => {
    const { child, lines } = await start();
    assert.deepEqual(await askHealth(baseUrl), { ready: true });
    assert.equal(statSync(join(dataDir, 'welcome.json')).mode & 0o777, 0o600);
    const pids = children();
    assert.equal(pids.length, 5);
    await child.stop(30_000);
    assert.deepEqual(anyRunning(pids), []);
    assert.equal(lines.filter(line => line.startsWith('curl ')).length, 1);
  });

  it('refuses a data folder that another start has, in one sentence', async () => {
    const { child } = await running();
    const [http, sip] = await freePorts(2);
    const second = await start({ HTTP_PORT: String(http), SIP_PORT: String(sip), RTP_PORTS: '62300-62400' });
    assert.match(
      second.lines.join('\n'),
      new RegExp(`already runs on the data folder ${dataDir} \\(process ${child.pid}\\)`),
    );
    assert.deepEqual(await second.child.exited, { code: 1, signal: null });
    assert.deepEqual(await askHealth(baseUrl), { ready: true });
  });

  it('starts again after a kill -9, with what was there, and no two of anything', async () => {
    const { child } = await running();
    const before = welcome();
    const orphans = children();
    await child.kill();
    up = await start();
    assert.deepEqual(await askHealth(baseUrl), { ready: true });
    assert.deepEqual(anyRunning(orphans), []);
    assert.equal(welcome(), before);
  });

  it('one Ctrl-C stops in order, although the terminal and npm both send it', async () => {
    const { child, lines } = await running();
    const pids = children();
    process.kill(child.pid, 'SIGINT');
    process.kill(child.pid, 'SIGINT');
    assert.equal(await waitGone(child.pid, 20_000), true);
    await child.exited; // so that the next test does not take it for a running one
    assert.deepEqual(anyRunning(pids), []);
    assert.doesNotMatch(lines.join('\n'), /stopping at once/);
  });

  it('a second Ctrl-C stops at once what does not stop in order, and leaves nothing running', async () => {
    const { child, lines } = await running();
    const pids = children();
    process.kill(processes()['media-app']?.pid ?? 0, 'SIGSTOP');
    process.kill(child.pid, 'SIGINT');
    await wait(1000); // a person's second thought
    process.kill(child.pid, 'SIGINT');
    assert.equal(await waitGone(child.pid, 20_000), true);
    assert.deepEqual(anyRunning(pids), []);
    assert.match(lines.join('\n'), /stopping at once/);
  });
});

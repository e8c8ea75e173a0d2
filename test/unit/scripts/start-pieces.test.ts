import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Child } from '../../../scripts/start/child.ts';
import { readSettings } from '../../../scripts/start/config.ts';
import { backOff, Kept, type Running } from '../../../scripts/start/kept.ts';
import { lockDataDir } from '../../../scripts/start/lock.ts';
import { checkPorts, freePorts, portProblem } from '../../../scripts/start/ports.ts';
import { isRunning } from '../../../scripts/start/processes.ts';
import { removeRunFile, stopLeftBehind, writeRunFile } from '../../../scripts/start/run-file.ts';
import { markOf } from '../../../scripts/start/processes.ts';
import { ROOT } from '../../../scripts/start/system.ts';

const sleeper = (code = 'setInterval(() => {}, 1000); console.log("up")'): Child =>
  new Child({ command: process.execPath, args: ['-e', code], stopSignal: 'SIGTERM' });

describe('a port that npm start needs', () => {
  it('is reported with protocol, number, process and setting when somebody has it', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sentence = (await portProblem('tcp', '127.0.0.1', port, 'HTTP_PORT')) ?? '';
    server.close();
    assert.match(
      sentence,
      new RegExp(
        `^TCP port ${port} on 127.0.0.1 is already in use by process ${process.pid} \\(.*\\): .*HTTP_PORT\\.$`,
      ),
    );
  });

  it('is reported for UDP too', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    const sentence = (await portProblem('udp', '127.0.0.1', port, 'SIP_PORT')) ?? '';
    socket.close();
    assert.match(sentence, new RegExp(`^UDP port ${port} .*process ${process.pid}`));
  });

  it('is reported on one line, whatever the process was started with', async () => {
    const code =
      'const server = require("net").createServer();\nserver.listen(0, "127.0.0.1", () => console.log(server.address().port))';
    let port = 0;
    const child = await Child.startUntil(
      { command: process.execPath, args: ['-e', code], stopSignal: 'SIGTERM', onLine: line => (port = Number(line)) },
      line => /^\d+$/.test(line),
      10_000,
    );
    const sentence = await portProblem('tcp', '127.0.0.1', port, 'HTTP_PORT');
    await child.kill();
    assert.match(sentence ?? '', new RegExp(`process ${child.pid} \\([^\\n]*\\): .*HTTP_PORT\\.$`));
  });

  it('is no problem when it is free', async () => {
    const [http, sip] = await freePorts(2);
    await checkPorts(readSettings({ HTTP_PORT: String(http), SIP_PORT: String(sip), RTP_PORTS: '61000-61100' }));
  });

  it('is given to one process only, though nobody listens there yet', async () => {
    const range = [27_000, 27_200] as const;
    const ours = await freePorts(60, range);
    const code = `import('./scripts/start/ports.ts').then(async m => console.log(JSON.stringify(await m.freePorts(60, [${range.join()}]))))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '-e', code], { cwd: ROOT });
    assert.equal(new Set([...ours, ...(JSON.parse(stdout) as number[])]).size, 120);
  });

  it('may not lie inside the audio ports', async () => {
    const [http] = await freePorts(1);
    const settings = readSettings({ HTTP_PORT: String(http), SIP_PORT: '61050', RTP_PORTS: '61000-61100' });
    await assert.rejects(checkPorts(settings), /SIP_PORT=61050 lies inside RTP_PORTS=61000-61100/);
  });

  it('is refused with one sentence when HOST is no address of this machine', async () => {
    const settings = readSettings({ HOST: '192.0.2.77', HTTP_PORT: '61201', SIP_PORT: '61202' });
    await assert.rejects(checkPorts(settings), {
      message: 'HOST=192.0.2.77 is no address of this machine: set HOST to one that is, or to 0.0.0.0.',
    });
  });
});

describe('the data folder', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trunkline-lock-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('belongs to one start; the second is told which process has it', async () => {
    const unlock = lockDataDir(folder);
    assert.throws(() => lockDataDir(folder), new RegExp(`already runs on the data folder .*process ${process.pid}`));
    unlock();
    lockDataDir(folder)();
  });

  it('is taken over from a start that was killed', async () => {
    const child = sleeper();
    writeFileSync(join(folder, 'start.lock'), JSON.stringify(markOf(child.pid)));
    await child.kill();
    lockDataDir(folder)();
    assert.equal(existsSync(join(folder, 'start.lock')), false);
  });

  it('remembers processes, so that the next start stops those left behind', async () => {
    const child = sleeper();
    writeRunFile(folder, { processes: { engine: markOf(child.pid) }, ports: {} });
    const notes: string[] = [];
    await stopLeftBehind(folder, text => notes.push(text));
    assert.equal(isRunning(child.pid), false);
    assert.match(notes.join(), /stopping engine/);
    removeRunFile(folder);
  });

  it('never mistakes a new process for an old one of the same number', async () => {
    const child = sleeper();
    writeRunFile(folder, { processes: { engine: { pid: child.pid, started: '1' } }, ports: {} });
    await stopLeftBehind(folder, () => undefined);
    assert.equal(isRunning(child.pid), true);
    await child.kill();
  });
});

describe('a process that is kept running', () => {
  it('is started again when it dies, and not when it is stopped', async () => {
    const notes: string[] = [];
    const pids: number[] = [];
    const start = (): Promise<Running> => {
      const child = sleeper();
      pids.push(child.pid);
      return Promise.resolve(child);
    };
    let changed: () => void = () => undefined;
    const kept = new Kept('engine', start, { note: text => notes.push(text), changed: () => changed() });
    await kept.begin();
    const restarted = new Promise<void>(resolve => (changed = () => pids.length === 2 && resolve()));
    process.kill(kept.pid ?? 0, 'SIGKILL');
    await restarted;
    await kept.stop();
    await wait(0);
    assert.deepEqual(pids.filter(isRunning), []);
    assert.equal(pids.length, 2);
    assert.deepEqual(notes, ['engine ended (signal SIGKILL); starting it again']);
  });

  it('is started ever more slowly while it keeps dying', () => {
    assert.deepEqual([1, 2, 3, 4, 10].map(backOff), [250, 500, 1000, 2000, 10_000]);
  });

  it('dies with the process that started it, even by kill -9', async function () {
    if (process.platform !== 'linux') this.skip();
    const path = new URL('../../../scripts/start/child.ts', import.meta.url).href;
    const code = `const { Child } = await import(${JSON.stringify(path)});
      const child = new Child({ command: process.execPath, args: ['-e', 'console.log("up"); setInterval(() => {}, 1000)'],
        stopSignal: 'SIGTERM', onLine: () => console.log(child.pid) });`;
    const parent = await Child.startUntil(
      {
        command: process.execPath,
        args: ['--import', 'tsx', '--input-type=module', '-e', code],
        stopSignal: 'SIGTERM',
        onLine: line => (pid = Number(line)),
      },
      line => /^\d+$/.test(line),
      10_000,
    );
    await parent.kill();
    for (let turn = 0; turn < 100 && isRunning(pid); turn += 1) await wait(20);
    assert.equal(isRunning(pid), false);
  });
  let pid = 0;
});

import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { startMediaServer, type MediaServerConfig } from '../../../engine/freeswitch/server.ts';
import { startMediaThread } from '../../../engine/freeswitch/thread.ts';
import { silentLog } from '../../../engine/sip/log.ts';
import { engineSuite } from '../../support/engine-only.ts';

const config = (eventSocketPort = 0): Omit<MediaServerConfig, 'log'> => ({
  rtpHost: '127.0.0.1',
  rtpPorts: [42000, 42400],
  sip: { host: '127.0.0.1', port: 0 },
  eventSocket: { host: '127.0.0.1', port: eventSocketPort, password: 'p' },
  soundsDir: tmpdir(),
});

/** A process that starts the thread, says ready, and goes on as long as there is something to do. */
const inProcess = (given: object): Promise<{ code: unknown; out: string; err: string }> => {
  const thread = new URL('../../../engine/freeswitch/thread.ts', import.meta.url).href;
  const script = `const { startMediaThread } = await import('${thread}');
    const nothing = () => undefined;
    await startMediaThread({ ...${JSON.stringify(given)}, log: { debug: nothing, info: nothing, warn: nothing, error: nothing } });
    console.log('ready');`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  return new Promise(resolve =>
    execFile(process.execPath, args, { timeout: 9000 }, (error, out, err) => resolve({ code: error?.code, out, err })),
  );
};

engineSuite('it starts an engine of its own', 'a media server in a thread of its own', () => {
  it('says its ports and what it holds, and stops', async () => {
    const server = await startMediaThread({ ...config(), log: silentLog });
    assert(server.sipPort > 0 && server.eventSocketPort > 0);
    const { memory, ...open } = await server.stats();
    assert.deepEqual(open, { channels: 0, rtp_ports: 0, transactions: 0, dialogs: 0 });
    assert(memory.heap_mb > 1);
    await server.stop();
    const again = await startMediaServer({ ...config(server.eventSocketPort), log: silentLog });
    await again.stop();
  });

  it('says why it cannot start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await assert.rejects(startMediaThread({ ...config(port), log: silentLog }), new RegExp(`${port}`));
    taken.close();
  });

  it('takes the whole process along when it breaks down', async () => {
    // Nothing makes it do so but a mistake of ours: here a setting of the wrong kind, found at the first heartbeat.
    const { code, out, err } = await inProcess({
      ...config(),
      heartbeatMs: 50,
      maxSessions: { toString: 1, valueOf: 1 },
    });
    assert.deepEqual([code, out], [1, 'ready\n']);
    assert.match(err, /Cannot convert object to primitive value/);
  });
});

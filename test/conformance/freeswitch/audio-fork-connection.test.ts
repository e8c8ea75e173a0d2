import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createSecureServer } from 'node:https';
import type { Server } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { until, type EngineUnderTest } from './engine-under-test.ts';
import { ForkServer, forkingCall, withForks } from './fork-server.ts';

const run = promisify(execFile);

describe('audio forks: connecting and commands', () => {
  let under: EngineUnderTest;
  let server: ForkServer;

  withForks((...started) => ([under, server] = started));

  /** What the application is told of a fork to this address. */
  async function outcome(wsUrl: string, variables: Record<string, string> = {}): Promise<string> {
    const { endpoint, told } = await forkingCall(under);
    if (Object.keys(variables).length > 0) await endpoint.set(variables);
    await endpoint.forkAudioStart({ wsUrl, bugname: 'e', metadata: {} });
    await until(() => told.length > 0, 'the outcome', 8000);
    await endpoint.forkAudioStop('e', {}); // still answered with +OK, as by the real module
    return told[0] ?? '';
  }

  it('says why it could not connect', async () => {
    const unable = 'connect_failed {"reason":"Unable to connect"}';
    assert.equal(await outcome('ws://127.0.0.1:1/'), unable);
    assert.equal(await outcome(server.url('/404')), 'connect_failed {"reason":"HS: ws upgrade response not 101"}');
    assert.equal(await outcome(server.url('/401')), 'connect_failed {"reason":"HS: ws upgrade unauthorized"}');
    assert.match(await outcome(`wss://127.0.0.1:${server.port}/`), /^connect_failed \{"reason":"connect SSL err 1: /);
  });

  engineOnly('mod_audio_fork says nothing', 'says so, too, when an address cannot be resolved or is none', async () => {
    for (const address of ['ws://nosuch.invalid/x', 'foo', 'ws+unix:///var/run/x.sock'])
      assert.equal(await outcome(address), 'connect_failed {"reason":"Unable to connect"}', address);
  });

  it('takes http for ws, and a server that names no subprotocol', async () => {
    const plain = await ForkServer.open(undefined, false);
    try {
      assert.equal(await outcome(`http://127.0.0.1:${plain.port}/h`), 'connect');
      assert.equal((await plain.connected('/h')).socket.protocol, '');
    } finally {
      await plain.close();
    }
  });

  engineOnly(
    'mod_audio_fork waits longer than a test can',
    'gives up on a server that never answers',
    async function () {
      this.timeout(12_000);
      const sockets: { destroy(): void }[] = [];
      const mute: Server = createTcpServer(socket => sockets.push(socket.on('error', () => undefined)));
      mute.listen(0, '127.0.0.1');
      await once(mute, 'listening');
      const port = (mute.address() as { port: number }).port;
      assert.equal(await outcome(`ws://127.0.0.1:${port}/`), 'connect_failed {"reason":"Unable to connect"}');
      for (const socket of sockets) socket.destroy();
      mute.close();
    },
  );

  it('proves itself with the basic credentials of the channel', async () => {
    const credentials = { MOD_AUDIO_BASIC_AUTH_USERNAME: 'joe', MOD_AUDIO_BASIC_AUTH_PASSWORD: 'pw' };
    assert.equal(await outcome(server.url('/auth'), credentials), 'connect');
    assert.equal((await server.connected('/auth')).request.headers.authorization, 'Basic am9lOnB3');
  });

  it('looks closely at certificates, unless the channel forgives', async function () {
    const [key, cert] = [join(under.directory, 'key.pem'), join(under.directory, 'cert.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const made = await run('openssl', [
      'req',
      '-x509',
      ...curve,
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      '/CN=other.example',
    ]).then(
      () => true,
      () => false, // no openssl here
    );
    if (!made) this.skip();
    const http = createSecureServer({ key: await readFile(key), cert: await readFile(cert) });
    http.on('tlsClientError', () => undefined);
    const secure = await ForkServer.open(http);
    try {
      const url = `wss://127.0.0.1:${secure.port}/tls`;
      // What is wrong with the certificate is told by the engine alone.
      const refused = (outcome: string, code: string): void =>
        assert.match(
          outcome,
          new RegExp(`^connect_failed {"reason":"connect SSL err 1: ${ownServers() ? '' : `${code}"}$`}`),
        );
      const selfSigned = { MOD_AUDIO_FORK_ALLOW_SELFSIGNED: 'true' };
      const anyName = { MOD_AUDIO_FORK_SKIP_SERVER_CERT_HOSTNAME_CHECK: 'true' };
      refused(await outcome(url), 'DEPTH_ZERO_SELF_SIGNED_CERT');
      refused(await outcome(url, anyName), 'DEPTH_ZERO_SELF_SIGNED_CERT');
      refused(await outcome(url, selfSigned), 'ERR_TLS_CERT_ALTNAME_INVALID');
      assert.equal(secure.size, 0);
      assert.equal(await outcome(url, { ...selfSigned, ...anyName }), 'connect');
    } finally {
      await secure.close();
    }
  });

  const ends: [path: string, end: (far: Awaited<ReturnType<ForkServer['connected']>>) => void][] = [
    ['/close', far => far.socket.close(1001, 'going')],
    ['/break', far => far.socket.terminate()],
  ];

  it('tells when the far end closes or its connection breaks', async () => {
    const { endpoint, told } = await forkingCall(under);
    for (const [path, end] of ends) {
      told.length = 0;
      await endpoint.forkAudioStart({ wsUrl: server.url(path), bugname: path.slice(1) });
      end(await server.connected(path));
      await until(() => told.length === 2, 'the disconnect event');
      assert.deepEqual(told, ['connect', 'disconnect']);
    }
  });

  engineOnly(
    'mod_audio_fork wants a stop first',
    'lets the name be used again when the far end has closed',
    async () => {
      const { endpoint, told } = await forkingCall(under);
      for (const [path, end] of ends) {
        told.length = 0;
        await endpoint.forkAudioStart({ wsUrl: server.url(`${path}-again`), bugname: 'c' });
        end(await server.connected(`${path}-again`));
        await until(() => told.length === 2, 'the disconnect event');
        await endpoint.forkAudioSendText('c', { x: 1 });
      }
      await endpoint.forkAudioStop('c', {});
      await assert.rejects(endpoint.forkAudioStop('c', {}), /-ERR Operation Failed/);
    },
  );

  it('answers commands as the real module does', async () => {
    const { endpoint } = await forkingCall(under);
    const ask = async (words: string): Promise<string> =>
      (await endpoint.api('uuid_audio_fork', `${endpoint.uuid} ${words}`)).body.slice(0, 22);
    const [ok, failed, usage] = ['+OK Success\n', '-ERR Operation Failed\n', '-USAGE: <uuid> [start '];
    /** Where mod_audio_fork says something else, it comes last. */
    const table: [words: string, answer: string, ofModule?: string][] = [
      [`start ${server.url('/cmd')} mono 8000 f1`, ok],
      [`start ${server.url('/cmd')} mono 8000 f1`, failed],
      [`start ${server.url('/cmd')} both 8000 f2`, failed, '-ERR no reply\n'],
      [`start ${server.url('/cmd')} mono 7000 f2`, failed, ok],
      ['start', usage],
      [`start ${server.url('/cmd')}`, usage],
      ['', usage],
      ['bogus', failed],
      ['pause nosuch', failed],
      ['resume nosuch', failed],
      ['send_text nosuch hi', failed],
      ['send_text f1', failed, ok],
      ['stop nosuch', failed],
      ['stop', failed],
      ['stop_play', failed],
      ['stop_play f1', failed],
      ['pause f1 silence', ok],
      ['resume f1', ok],
      ['send_text f1 hello there', ok],
      [`start ${server.url('/cmd')} mono 8000`, ok],
      ['pause silence', ok, failed],
      ['pause', ok],
      ['send_text alone', ok, failed],
      ['stop', ok],
      ['stop f1', ok],
    ];
    const answers: [words: string, answer: string][] = [];
    for (const [words] of table) answers.push([words, await ask(words)]);
    assert.deepEqual(
      answers,
      table.map(([words, answer, ofModule = answer]) => [words, ownServers() ? ofModule : answer]),
    );
    const missing = '11111111-2222-3333-4444-555555555555';
    assert.equal((await endpoint.api('uuid_audio_fork', `${missing} stop`)).body, failed);
  });

  engineOnly('mod_audio_fork has no limit', 'runs at most eight forks on one call', async () => {
    const { endpoint } = await forkingCall(under);
    for (let i = 0; i < 8; i += 1) await endpoint.forkAudioStart({ wsUrl: server.url('/many'), bugname: `m${i}` });
    await assert.rejects(
      endpoint.forkAudioStart({ wsUrl: server.url('/many'), bugname: 'm8' }),
      /-ERR Operation Failed/,
    );
    await endpoint.forkAudioStop('m3');
    await endpoint.forkAudioStart({ wsUrl: server.url('/many'), bugname: 'm8' });
  });

  it('ends quietly when it is stopped, or the call ends, before it has connected', async () => {
    const { endpoint, told } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/early'), bugname: 'a' });
    await endpoint.forkAudioStop('a', {});
    await endpoint.forkAudioStart({ wsUrl: server.url('/early'), bugname: 'b' });
    await endpoint.destroy();
    assert.ok(!told.includes('disconnect') && !told.some(one => one.startsWith('connect_failed')), told.join());
  });

  it('tells of the connection before anything that comes over it', async () => {
    const { endpoint, told } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/first'), bugname: 's' });
    const far = await server.connected('/first');
    far.send({ type: 'error', data: 'at once' });
    far.socket.close(1000);
    await until(() => told.length === 3, 'three events');
    assert.deepEqual(told, ['connect', 'error at once', 'disconnect']);
  });
});

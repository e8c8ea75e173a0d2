import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { until, type EngineUnderTest } from './engine-under-test.ts';
import { amplitudeOf, type ForkServer, forkingCall, samplesOf, withForks } from './fork-server.ts';

describe('audio forks: what the far end hears', () => {
  let under: EngineUnderTest;
  let server: ForkServer;

  withForks((...started) => ([under, server] = started));

  it('connects with the subprotocol, sends the metadata first, then audio, and tells the application', async () => {
    const { endpoint, told } = await forkingCall(under);
    await endpoint.forkAudioStart({
      wsUrl: server.url('/a?x=1'),
      bugname: 'f1',
      metadata: { callSid: 'abc', k: 'v w' },
    });
    const far = await server.connected('/a?x=1');
    await far.hears(5);
    const { headers } = far.request;
    assert.equal(headers['sec-websocket-protocol'], 'audio.drachtio.org');
    assert.equal(headers.authorization, undefined);
    assert.equal(headers['sec-websocket-extensions'], undefined);
    assert.deepEqual(far.texts, ['{"callSid":"abc","k":"v w"}']);
    assert.deepEqual(told, ['connect']);
    await endpoint.forkAudioStop('f1', { bye: 1 });
    assert.equal(await far.closed(), 1000);
    assert.deepEqual(far.texts.slice(1), ['{"bye":1}']);
    assert.deepEqual(told, ['connect']);
  });

  for (const [sampling, rate, bytes] of [
    ['8000', 8000, 320],
    ['16000', 16000, 640],
    ['24000', 24000, 960],
    ['32000', 32000, 1280],
    ['48000', 48000, 1920],
    ['16k', 16000, 640],
  ] as const)
    it(`sends what the caller says as ${bytes} bytes fifty times a second at ${sampling}`, async () => {
      const { endpoint, peer } = await forkingCall(under);
      peer.saying = 600;
      await endpoint.forkAudioStart({ wsUrl: server.url(`/rate-${sampling}`), sampling });
      const far = await server.connected(`/rate-${sampling}`);
      await far.hears(10);
      const start = far.frames.at(-1)?.at ?? 0;
      const frames = await far.hears(25);
      assert.deepEqual([...new Set(frames.map(frame => frame.length))], [bytes]);
      const ms = (far.frames.at(-1)?.at ?? 0) - start;
      assert.ok(ms > 420 && ms < 620, `25 frames took ${Math.round(ms)} ms`);
      const heard = samplesOf(frames);
      const level = amplitudeOf(heard, 600, rate);
      assert.ok(level > 7000 && level < 9000, `600 Hz at ${Math.round(level)}`);
      assert.ok(amplitudeOf(heard, 1200, rate) < 300);
      if (rate > 8000) assert.ok(amplitudeOf(heard, 7400, rate) < 100, 'an image above 4 kHz'); // 8000 - 600
    });

  it('alternates between two frame sizes at 11025, which 20 ms do not divide', async () => {
    const { endpoint } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/odd'), sampling: '11025' });
    const far = await server.connected('/odd');
    const sizes = (await far.hears(20)).map(frame => frame.length);
    assert.deepEqual([...new Set(sizes)].sort(), [440, 442]);
    assert.equal(sizes.filter(size => size === 440).length, 10);
  });

  it('carries only the caller in mono, both in mixed, and each on its side in stereo', async () => {
    const { endpoint, peer } = await forkingCall(under);
    peer.saying = 600;
    for (const mixType of ['mono', 'mixed', 'stereo'])
      await endpoint.forkAudioStart({ wsUrl: server.url(`/${mixType}`), mixType, bugname: mixType, sampling: '16000' });
    const played = endpoint.play('tone_stream://%(3000,0,1000)');
    await peer.hears(1000);
    const level = async (path: string, channel: number, channels: number): Promise<boolean[]> => {
      const heard = samplesOf(await (await server.connected(path)).hears(20), channel, channels);
      return [600, 1000].map(hz => amplitudeOf(heard, hz, 16000) > 1500);
    };
    assert.deepEqual(
      await Promise.all([level('/mono', 0, 1), level('/mixed', 0, 1), level('/stereo', 0, 2), level('/stereo', 1, 2)]),
      [
        [true, false],
        [true, true],
        [true, false],
        [false, true],
      ],
    );
    await endpoint.api('uuid_break', endpoint.uuid);
    await played;
  });

  it('carries the other party of a bridge on the right side', async () => {
    const [a, b] = await Promise.all([forkingCall(under), forkingCall(under)]);
    a.peer.saying = 600;
    b.peer.saying = 1000;
    await a.endpoint.bridge(b.endpoint);
    await a.endpoint.forkAudioStart({ wsUrl: server.url('/bridge'), mixType: 'stereo' });
    const far = await server.connected('/bridge');
    await far.hears(10);
    const frames = await far.hears(20);
    const tones = [0, 1].map(channel =>
      [600, 1000].map(hz => amplitudeOf(samplesOf(frames, channel, 2), hz, 8000) > 3000),
    );
    assert.deepEqual(tones, [
      [true, false],
      [false, true],
    ]);
  });

  it('goes on as silence while the caller sends nothing or is muted', async () => {
    const { endpoint, peer } = await forkingCall(under);
    peer.saying = 600;
    await endpoint.forkAudioStart({ wsUrl: server.url('/silent') });
    const far = await server.connected('/silent');
    await far.hears(10);
    await endpoint.mute();
    await far.hears(3);
    assert.ok(samplesOf(await far.hears(10)).every(sample => sample === 0));
    await endpoint.unmute();
    peer.saying = null;
    await far.hears(25);
    assert.ok(amplitudeOf(samplesOf(await far.hears(10)), 600, 8000) < 50);
  });

  it('sends nothing while paused', async () => {
    const { endpoint, peer } = await forkingCall(under);
    peer.saying = 600;
    await endpoint.forkAudioStart({ wsUrl: server.url('/pause'), bugname: 'p' });
    const far = await server.connected('/pause');
    await far.hears(5);
    await endpoint.forkAudioPause('p');
    await endpoint.api('create_uuid');
    const before = far.frames.length;
    const packets = peer.packets;
    await until(() => peer.packets >= packets + 15, '300 ms of packets');
    assert.ok(far.frames.length - before <= 1, `${far.frames.length - before} frames during the pause`);
    await endpoint.forkAudioResume('p');
    await far.hears(2);
    assert.ok(amplitudeOf(samplesOf(await far.hears(10)), 600, 8000) > 5000);
  });

  engineOnly('mod_audio_fork sends nothing', 'sends silence while paused when that is asked for', async () => {
    const { endpoint, peer } = await forkingCall(under);
    peer.saying = 600;
    await endpoint.forkAudioStart({ wsUrl: server.url('/silence'), bugname: 'p' });
    const far = await server.connected('/silence');
    await endpoint.forkAudioPause('p', true);
    await far.hears(2);
    assert.ok(samplesOf(await far.hears(5)).every(sample => sample === 0));
  });

  engineOnly(
    'FreeSWITCH takes quotes and backslashes as its own',
    'hands texts over verbatim, whatever is in them',
    async () => {
      const { endpoint } = await forkingCall(under);
      const metadata = { p: `it's "ok" a|b \\ grüße €`, n: 'line\nbreak', long: 'z'.repeat(5000) };
      await endpoint.forkAudioStart({ wsUrl: server.url('/verbatim'), bugname: 'v', metadata });
      const far = await server.connected('/verbatim');
      await far.says(JSON.stringify(metadata));
      await endpoint.forkAudioSendText('v', { mid: 'x y', it: "isn't", n: 2 });
      await far.says(`{"mid":"x y","it":"isn't","n":2}`);
      await endpoint.forkAudioStop('v', { bye: "it's over" });
      await far.closed();
      assert.deepEqual(far.texts.slice(2), [`{"bye":"it's over"}`]);
    },
  );

  it('runs several forks at once, each by its name', async () => {
    const { endpoint } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/one'), bugname: 'a', metadata: { b: 'a' } });
    await endpoint.forkAudioStart({ wsUrl: server.url('/two'), bugname: 'b', metadata: { b: 'b' } });
    const [one, two] = await Promise.all(['/one', '/two'].map(path => server.connected(path)));
    assert.ok(one && two);
    await Promise.all([one, two].map(far => far.hears(3)));
    await endpoint.forkAudioStop('a');
    assert.equal(await one.closed(), 1000);
    await two.hears(3);
    assert.deepEqual([one.texts, two.texts], [['{"b":"a"}'], ['{"b":"b"}']]);
  });

  engineOnly(
    'mod_audio_fork confuses it with others',
    'runs a fork without a name beside one that has a name',
    async () => {
      const { endpoint } = await forkingCall(under);
      await endpoint.forkAudioStart({ wsUrl: server.url('/named'), bugname: 'a' });
      await endpoint.forkAudioStart({ wsUrl: server.url('/none'), metadata: { n: 1 } });
      const [named, none] = await Promise.all(['/named', '/none'].map(path => server.connected(path)));
      assert.ok(named && none);
      await Promise.all([named, none].map(far => far.hears(3)));
      await endpoint.forkAudioSendText({ only: 'nameless' });
      await none.says('{"only":"nameless"}');
      await endpoint.forkAudioStop();
      assert.equal(await none.closed(), 1000);
      await named.hears(3);
    },
  );

  it('closes with 1000 and without a text when the call ends', async () => {
    const { endpoint, told } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/end'), metadata: { m: 1 } });
    const far = await server.connected('/end');
    await far.hears(3);
    await endpoint.destroy();
    assert.equal(await far.closed(), 1000);
    assert.deepEqual(far.texts, ['{"m":1}']);
    assert.deepEqual(told, ['connect']);
  });

  it('says by an empty frame that it is shutting down and lets the far end close', async () => {
    const { endpoint, told } = await forkingCall(under);
    await endpoint.forkAudioStart({ wsUrl: server.url('/graceful'), bugname: 'g' });
    const far = await server.connected('/graceful');
    await far.hears(3);
    assert.equal((await endpoint.api('uuid_audio_fork', `${endpoint.uuid} graceful-shutdown g`)).body, '+OK Success\n');
    await until(() => far.frames.at(-1)?.bytes.length === 0, 'the empty frame');
    far.socket.close(1000);
    await until(() => told.includes('disconnect'), 'the disconnect event');
    assert.equal(far.frames.at(-1)?.bytes.length, 0);
    assert.deepEqual(told, ['connect', 'disconnect']);
  });
});

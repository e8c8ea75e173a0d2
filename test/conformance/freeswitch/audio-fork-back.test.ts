import { strict as assert } from 'node:assert';
import { existsSync, readFileSync } from 'node:fs';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { until, type EngineUnderTest } from './engine-under-test.ts';
import type { FarEnd, ForkingEndpoint } from './fork-server.ts';
import { amplitudeOf, type ForkServer, forkingCall, tone, withForks } from './fork-server.ts';
import type { RtpPeer } from './rtp-peer.ts';

const streaming = (sampleRate = '8000'): object => ({ enabled: 'true', streaming: 'true', sampleRate });

describe('audio forks: what the far end sends back', () => {
  let under: EngineUnderTest;
  let server: ForkServer;
  let path = 0;

  withForks((...started) => ([under, server] = started));

  async function fork(
    bidirectionalAudio?: object,
  ): Promise<{ endpoint: ForkingEndpoint; peer: RtpPeer; told: string[]; far: FarEnd }> {
    const call = await forkingCall(under);
    const wsUrl = server.url(`/${++path}`);
    await call.endpoint.forkAudioStart({ wsUrl, bugname: 'f', ...(bidirectionalAudio ? { bidirectionalAudio } : {}) });
    const far = await server.connected(`/${path}`);
    await far.hears(2);
    await until(() => call.told.length === 1, 'the connect event');
    call.told.length = 0;
    return { ...call, far };
  }

  /** Milliseconds of a tone that the peer has heard. */
  const msOf = (peer: RtpPeer, hz: number): number =>
    peer.heard.filter(frame => amplitudeOf(frame.samples, hz, 8000) > 3000).length * 20;

  const silentAgain = (peer: RtpPeer): Promise<void> => until(() => peer.tonesOf(100).length === 0, 'silence', 5000);

  for (const rate of [8000, 16000, 24000, 48000])
    it(`lets the caller hear audio that it gets at ${rate} in one frame, all of it, at its pitch`, async () => {
      const { peer, far } = await fork(streaming(String(rate)));
      peer.forget();
      far.socket.send(tone(850, 1000, rate));
      await peer.hears(850, 400);
      await silentAgain(peer);
      const ms = msOf(peer, 850);
      assert.ok(ms >= (ownServers() ? 900 : 960) && ms <= 1020, `${ms} ms`); // FreeSWITCH drops some of the first
    });

  it('plays frames that come in real time without a break', async () => {
    const { peer, far } = await fork(streaming());
    peer.forget();
    const frames = tone(600, 1000, 8000);
    for (let at = 0; at < frames.length; at += 320) {
      far.socket.send(frames.subarray(at, at + 320));
      await far.hears(1);
    }
    await silentAgain(peer);
    const heard = peer.heard.map(frame => amplitudeOf(frame.samples, 600, 8000) > 3000);
    const first = heard.indexOf(true);
    const gaps = heard.slice(first, heard.lastIndexOf(true)).filter(one => !one).length;
    assert.ok(gaps <= (ownServers() ? 4 : 1), `${gaps} gaps in ${msOf(peer, 600)} ms`);
    assert.ok(msOf(peer, 600) >= 940);
  });

  it('carries an odd byte over to the next frame', async () => {
    const { peer, far } = await fork(streaming());
    peer.forget();
    const audio = tone(1000, 250, 8000);
    for (const [from, to] of [
      [0, 333],
      [333, 334],
      [334, 1333],
      [1333, 4000],
    ] as const)
      far.socket.send(audio.subarray(from, to));
    await peer.hears(1000);
    await silentAgain(peer);
    assert.ok(msOf(peer, 1000) >= 220, `${msOf(peer, 1000)} ms`);
  });

  engineOnly('mod_audio_fork waits for ever', 'waits for more before it begins, but not for ever', async () => {
    const { peer, far } = await fork(streaming());
    peer.forget();
    far.socket.send(tone(1200, 35, 8000));
    await far.hears(5);
    assert.equal(msOf(peer, 1200), 0);
    await until(() => msOf(peer, 1200) >= 20, 'the short sound');
  });

  it('mixes it with whatever plays', async () => {
    const { endpoint, peer, far } = await fork(streaming());
    const played = endpoint.play('tone_stream://%(1500,0,350)');
    await peer.hears(350);
    far.socket.send(tone(1000, 600, 8000));
    await peer.hears(1000);
    assert.deepEqual(peer.tonesOf(100), [350, 1000]);
    await played;
  });

  it('answers marks when the audio before them was played', async () => {
    const { peer, far } = await fork(streaming());
    const start = performance.now();
    far.socket.send(tone(600, 500, 8000));
    far.send({ type: 'mark', data: { name: 'm1' } });
    await far.says('{"type": "mark", "data": {"name":"m1", "event": "playout"}}');
    const ms = performance.now() - start;
    assert.ok(ms > (ownServers() ? 400 : 460) && ms < 750, `after ${Math.round(ms)} ms`);
    await silentAgain(peer);
  });

  engineOnly('mod_audio_fork waits for audio', 'answers a mark at once when nothing is left to be played', async () => {
    const { far } = await fork(streaming());
    far.send({ type: 'mark', data: { name: 'say "now"' } });
    await far.says('{"type": "mark", "data": {"name":"say \\"now\\"", "event": "playout"}}');
  });

  it('falls silent at killAudio, clears the marks that wait, and plays on with what comes later', async () => {
    const { endpoint, peer, told, far } = await fork(streaming());
    const played = endpoint.play('tone_stream://%(20000,0,350)');
    await peer.hears(350);
    far.socket.send(tone(1000, 8000, 8000));
    await peer.hears(1000);
    far.send({ type: 'mark', data: { name: 'forgotten' } });
    far.send({ type: 'clearMarks' });
    far.send({ type: 'mark', data: { name: 'm3' } });
    far.send({ type: 'killAudio' });
    await far.says('{"type": "mark", "data": {"name":"m3", "event": "cleared"}}');
    await played; // the application's own sound is broken off, too
    await silentAgain(peer);
    assert.deepEqual(told, ['kill_audio']);
    assert.equal(far.texts.length, 1);
    peer.forget();
    far.socket.send(tone(700, 400, 8000));
    await peer.hears(700);
    await silentAgain(peer);
    assert.ok(msOf(peer, 700) >= 360);
  });

  it('answers at most thirty marks', async () => {
    const { far } = await fork(streaming());
    far.socket.send(tone(600, 200, 8000));
    for (let i = 0; i < 40; i += 1) far.send({ type: 'mark', data: { name: `n${i}` } });
    await far.says('{"type": "mark", "data": {"name":"n29", "event": "playout"}}');
    assert.equal(far.texts.length, 30);
  });

  engineOnly('mod_audio_fork takes no name there', 'drops streamed audio at stop_play', async () => {
    const { endpoint, peer, far } = await fork(streaming());
    far.socket.send(tone(1000, 8000, 8000));
    await peer.hears(1000);
    assert.equal((await endpoint.api('uuid_audio_fork', `${endpoint.uuid} stop_play f`)).body, '+OK Success\n');
    await silentAgain(peer);
  });

  engineOnly('mod_audio_fork has no limit', 'keeps three minutes and tells once when more comes', async () => {
    const { peer, told, far } = await fork(streaming());
    for (let i = 0; i < 20; i += 1) far.socket.send(tone(600, 10_000, 8000));
    await until(() => told.length > 0, 'the buffer_overrun event', 5000);
    far.send({ type: 'killAudio' });
    await until(() => told.length > 1, 'the kill_audio event');
    assert.deepEqual(told, ['buffer_overrun', 'kill_audio']);
    await silentAgain(peer);
  });

  it('plays out what it has when the far end closes', async () => {
    const { peer, told, far } = await fork(streaming());
    peer.forget();
    far.socket.send(tone(440, 600, 8000));
    far.socket.close(1000);
    await peer.hears(440, 300);
    await silentAgain(peer);
    assert.ok(msOf(peer, 440) >= 560);
    assert.deepEqual(told, ['disconnect']);
  });

  it('does not play what comes without streaming', async () => {
    const { peer, far } = await fork();
    far.socket.send(tone(1000, 400, 8000));
    await far.hears(15);
    assert.equal(msOf(peer, 1000), 0);
  });

  it('tells the application what the far end says', async () => {
    const { told, far } = await fork();
    far.send({ type: 'transcription', data: { t: 'hello' } });
    far.send({ type: 'transfer', data: { to: '1' } });
    far.send({ type: 'json', data: { a: 1 } });
    far.send({ type: 'error', data: { code: 5 } });
    await until(() => told.length === 4, 'four events');
    assert.deepEqual(told, [
      'transcription {"t":"hello"}',
      'transfer {"to":"1"}',
      'json {"type":"json","data":{"a":1}}',
      'error {"code":5}',
    ]);
  });

  engineOnly('mod_audio_fork ends FreeSWITCH with some of it', 'takes whatever JSON the far end says', async () => {
    const { told, far } = await fork();
    const messages: [sent: string, told: string | null][] = [
      ['{"type":"transcription","data":{"t":"hello"}}', 'transcription {"t":"hello"}'],
      ['{"type":"transfer","data":{"to":"1"}}', 'transfer {"to":"1"}'],
      ['{"type":"disconnect","data":{"why":"x"}}', 'disconnect {"why":"x"}'],
      ['{"type":"error","data":{"code":5}}', 'error {"code":5}'],
      ['{"type":"json","data":{"a":1}}', 'json {"type":"json","data":{"a":1}}'],
      ['{"foo":"no type"}', 'json {"foo":"no type"}'],
      ['{"type":"nosuch","data":{"a":1}}', null],
      ['not json', null],
      ['"a string"', 'json a string'],
      ['[1,2]', 'json [1,2]'],
      ['{"type":"transcription"}', 'transcription'],
      [`{"type":"json","data":{"u":"grüße","q":"it's"}}`, `json {"type":"json","data":{"u":"grüße","q":"it's"}}`],
      ['{"type":"killAudio"}', 'kill_audio'],
      ['{"type":"mark","data":{"name":"m1"}}', null],
      ['{"type":"mark","data":[]}', null],
      ['{"type":"playAudio","data":7}', null],
      ['{"type":"error","data":"last"}', 'error last'],
    ];
    for (const [sent] of messages) far.send(sent);
    const expected = messages.flatMap(([, one]) => (one === null ? [] : [one]));
    await until(() => told.length >= expected.length, `${expected.length} events, got ${told.join(' | ')}`);
    assert.deepEqual(told, expected);
    assert.deepEqual(far.texts, []);
  });

  it('stores the sound of playAudio, tells where, lets the application play it, and deletes it at the end', async () => {
    const { endpoint, peer, told, far } = await fork();
    const play = (audioContentType: string, sampleRate: number, audio: Buffer): void =>
      far.send({
        type: 'playAudio',
        data: { audioContentType, sampleRate, audioContent: audio.toString('base64'), textContent: 'x', id: 'p1' },
      });
    const files: string[] = [];
    for (const [type, rate, extension] of [
      ['raw', 8000, 'r8'],
      ['raw', 16000, 'r16'],
      ...(ownServers() ? [] : [['raw', 48000, 'r48'] as const]), // FreeSWITCH has no reader for it
      ['raw', 9999, 'r16'],
    ] as const) {
      told.length = 0;
      play(type, rate, tone(850, 500, rate === 9999 ? 16000 : rate));
      await until(() => told.length === 1, 'the play_audio event');
      const body = JSON.parse(told[0]?.replace('play_audio ', '') ?? '') as Record<string, string>;
      const { file = '', ...rest } = body;
      assert.deepEqual(rest, { audioContentType: type, sampleRate: rate, textContent: 'x', id: 'p1' });
      assert.match(file, new RegExp(`/${endpoint.uuid}_${ownServers() ? '\\d+' : files.length}\\.tmp\\.${extension}$`));
      files.push(file);
      peer.forget();
      const { playbackMilliseconds } = await endpoint.play(file);
      assert.equal(playbackMilliseconds, '500');
      assert.ok(msOf(peer, 850) >= 440, `${msOf(peer, 850)} ms of ${file}`);
    }
    told.length = 0;
    play('mp3', 8000, tone(850, 100, 8000));
    await until(() => told.length === 1, 'the event without a file');
    assert.doesNotMatch(told[0] ?? '', /"file"/);
    assert.ok(files.every(file => existsSync(file)));
    assert.equal(readFileSync(files[0] ?? '').length, 8000);
    await endpoint.forkAudioStop('f');
    await until(() => !files.some(file => existsSync(file)), 'the files to be gone');
  });

  it('tells everything in its order, also behind large sounds', async () => {
    const { told, far } = await fork();
    for (const bytes of [4_000_000, 2000]) {
      const audioContent = Buffer.alloc(bytes).toString('base64');
      far.send({ type: 'playAudio', data: { audioContentType: 'raw', sampleRate: 8000, audioContent, id: bytes } });
    }
    far.send({ type: 'killAudio' });
    far.send({ type: 'error', data: 'x' });
    far.socket.close(1000);
    await until(() => told.includes('disconnect'), 'the disconnect event');
    const order = told.map(one => one.replace(/^play_audio .*"id":(\d+).*$/, 'play $1'));
    assert.deepEqual(order, ['play 4000000', 'play 2000', 'kill_audio', 'error x', 'disconnect']);
  });

  it('ignores playAudio when nothing may come back, and when audio is streamed instead', async () => {
    const message = { type: 'playAudio', data: { audioContentType: 'raw', sampleRate: 8000, audioContent: 'AAAA' } };
    // mod_audio_fork does not see that nothing may come back unless a rate is given.
    for (const mode of [{ enabled: 'false', sampleRate: '8000' }, streaming()]) {
      const { told, far } = await fork(mode);
      far.send(message);
      far.send({ type: 'error', data: 'after' });
      await until(() => told.length > 0, 'the event after it');
      assert.deepEqual(told, ['error after']);
    }
  });

  it('keeps reading, slowly, from a far end that floods it', async () => {
    const { endpoint, told, far } = await fork();
    for (let i = 0; i < 2500; i += 1) far.send({ type: 'nosuch' });
    far.send({ type: 'error', data: 'after the flood' });
    await until(() => told.includes('error after the flood'), 'the last message', 6000);
    assert.ok(endpoint.connected);
    await far.hears(3);
  });

  engineOnly(
    'mod_audio_fork takes any',
    'is cut off by nothing but its own end when a frame is too large',
    async () => {
      const { endpoint, told, far } = await fork(streaming());
      far.socket.send(Buffer.alloc(17 * 1024 * 1024));
      assert.equal(await far.closed(), 1009);
      await until(() => told.includes('disconnect'), 'the disconnect event');
      assert.ok(endpoint.connected);
    },
  );
});

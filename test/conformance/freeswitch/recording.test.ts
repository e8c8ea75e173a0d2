import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ownServers } from '../../support/own-servers.ts';
import { until, withEngine, type Endpoint, type EngineUnderTest } from './engine-under-test.ts';
import { amplitudeOf } from './fork-server.ts';
import type { RtpPeer } from './rtp-peer.ts';
import { readWav } from './wav-tracks.ts';

describe('recordings of a call', () => {
  let under: EngineUnderTest;
  let number = 0;

  withEngine(started => (under = started));

  /** A call in which the party says 600 Hz and hears 1000 Hz. */
  async function talk(): Promise<{ endpoint: Endpoint; peer: RtpPeer; file: string }> {
    const { endpoint, peer } = await under.call();
    peer.saying = 600;
    await endpoint.set('RECORD_PRE_BUFFER_FRAMES', '1'); // FreeSWITCH keeps half a second back, and loses shorter recordings
    void endpoint.play('tone_stream://%(60000,0,1000)').catch(() => undefined); // ends with the call
    await peer.hears(1000);
    return { endpoint, peer, file: join(under.directory, `recording-${++number}.wav`) };
  }

  const packets = async (peer: RtpPeer, count: number): Promise<void> => {
    const target = peer.packets + count;
    await until(() => peer.packets >= target, `${count} packets`, 8000);
  };

  /** Records for half a second and tells the rate and, for each track, whether it has 600 and 1000 Hz. */
  async function recorded(variables: string, options = ''): Promise<{ rate: number; has: boolean[][]; ms: number }> {
    const { endpoint, peer, file } = await talk();
    if (variables !== '') await endpoint.execute('multiset', variables);
    assert.equal((await endpoint.api('uuid_record', `${endpoint.uuid} start ${file}${options}`)).body, '+OK Success\n');
    await packets(peer, 25);
    assert.equal((await endpoint.api('uuid_record', `${endpoint.uuid} stop ${file}`)).body, '+OK Success\n');
    const { rate, tracks } = await readWav(file);
    const has = tracks.map(track => [600, 1000].map(hz => amplitudeOf(track, hz, rate) > 1500));
    const figures = await endpoint.getChannelVariables();
    assert.equal((Number(figures['variable_record_samples']) * rate) / 8000, tracks[0]?.length);
    return { rate, has, ms: Number(figures['variable_record_ms']) };
  }

  it('mix both sides at 8 kHz by default', async () => {
    const { rate, has, ms } = await recorded('');
    assert.deepEqual([rate, has], [8000, [[true, true]]]);
    assert.ok(ms >= 460 && ms <= 640, `${ms} ms`);
  });

  const both = [true, true];
  const said = [true, false];
  const heard = [false, true];
  for (const [variables, expected, what] of [
    ['RECORD_STEREO=true', [said, heard], 'keep the party left and what it hears right'],
    ['RECORD_STEREO_SWAP=true', [heard, said], 'change the sides'],
    ['RECORD_READ_ONLY=true', [said], 'take only what the party says'],
    ['RECORD_WRITE_ONLY=true', [heard], 'take only what the party hears'],
    ['RECORD_STEREO=false', [both], 'mix when stereo is switched off'],
  ] as const)
    it(`${what} with ${variables}`, async () => {
      assert.deepEqual((await recorded(variables)).has, expected);
    });

  for (const rate of [16_000, 48_000])
    it(`are written at ${rate} with record_sample_rate, in stereo, too`, async () => {
      const result = await recorded(`record_sample_rate=${rate} RECORD_STEREO=true`);
      assert.deepEqual([result.rate, result.has], [rate, [said, heard]]);
      assert.ok(result.ms >= 460 && result.ms <= 640, `${result.ms} ms`);
    });

  it('take variables of their own', async () => {
    const result = await recorded('', ' 10 {RECORD_STEREO=true,record_sample_rate=16000}');
    assert.deepEqual([result.rate, result.has], [16_000, [said, heard]]);
  });

  it('are silent while they are masked, and as long as the call', async () => {
    const { endpoint, peer, file } = await talk();
    await endpoint.recordSession(file);
    const order = (action: string): Promise<unknown> =>
      endpoint.api('uuid_record', `${endpoint.uuid} ${action} ${file}`);
    await packets(peer, 20);
    await order('mask');
    await packets(peer, 20);
    await order('unmask');
    await packets(peer, 20);
    await order('stop');
    const track = (await readWav(file)).tracks[0] ?? new Int16Array();
    const frames = Array.from({ length: Math.floor(track.length / 160) }, (_, i) =>
      track.subarray(i * 160, i * 160 + 160),
    );
    const loud = frames.map(frame => amplitudeOf(frame, 600, 8000) > 3000);
    const [first, last] = [loud.indexOf(false, 5), loud.lastIndexOf(false, -5)]; // FreeSWITCH adds silence at both ends
    assert.ok(frames.length >= 56, `${frames.length} frames`);
    assert.ok(first > 10 && last < loud.length - 10, 'loud at both ends');
    assert.ok(frames.slice(first, last + 1).every(frame => frame.every(sample => sample === 0)));
    assert.ok(last - first >= 17, `${last - first + 1} silent frames`);
  });

  it('end at their limit by themselves', async () => {
    const { endpoint, peer, file } = await talk();
    await endpoint.api('uuid_record', `${endpoint.uuid} start ${file} 1`);
    await packets(peer, 65);
    const { body } = await endpoint.api('uuid_record', `${endpoint.uuid} stop ${file}`);
    assert.equal(body, '-ERR Cannot stop record session!\n');
    const length = (await readWav(file)).tracks[0]?.length ?? 0;
    assert.ok(length <= 8000 && length >= (ownServers() ? 160 : 8000), `${length} samples`); // FreeSWITCH counts begun seconds
  });

  it('are thrown away when they are shorter than RECORD_MIN_SEC, and kept otherwise', async () => {
    const { endpoint, peer, file } = await talk();
    await endpoint.set('RECORD_MIN_SEC', '1');
    await endpoint.recordSession(file);
    await packets(peer, 10);
    await endpoint.execute('stop_record_session', file);
    assert.equal(existsSync(file), false);
    assert.equal((await endpoint.getChannelVariables())['variable_RECORD_DISCARDED'], 'true');
    await endpoint.recordSession(file);
    await packets(peer, 55);
    await endpoint.execute('stop_record_session', file);
    assert.equal(existsSync(file), true);
  });

  it('are complete when the call ends before they are stopped', async () => {
    const { endpoint, peer, file } = await talk();
    await endpoint.set('RECORD_STEREO', 'true');
    await endpoint.recordSession(file);
    await packets(peer, 25);
    await endpoint.destroy();
    const { tracks } = await readWav(file);
    assert.equal(tracks.length, 2);
    assert.ok((tracks[0]?.length ?? 0) >= 25 * 160 - 320);
  });

  it('go on when they are started once more, and are refused for a kind of file that cannot be written', async () => {
    const { endpoint, file } = await talk();
    const start = async (path: string): Promise<string> =>
      (await endpoint.api('uuid_record', `${endpoint.uuid} start ${path}`)).body;
    assert.equal(await start(file), '+OK Success\n');
    assert.equal(await start(file), '+OK Success\n');
    assert.match(await start(`${file}.mp4`), /^-ERR /);
    assert.equal(
      (await endpoint.api('uuid_record', `${endpoint.uuid} mask ${file}.x`)).body,
      '-ERR Cannot mask recording session!\n',
    );
    assert.equal((await endpoint.api('uuid_record', `${endpoint.uuid} stop all`)).body, '+OK Success\n');
  });
});

import { strict as assert } from 'node:assert';
import { until, withEngine, type EngineUnderTest } from './engine-under-test.ts';

const tone = (hz: number, ms = 20_000) => `tone_stream://%(${ms},0,${hz})`;

describe('what a party hears in place of everything else (uuid_displace, uuid_audio)', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  it('hides a playback, which goes on unheard, until it is stopped', async () => {
    const { endpoint, peer } = await under.call();
    void endpoint.play(tone(440));
    await peer.hears(440);
    const answer = await endpoint.api('uuid_displace', `${endpoint.uuid} start ${tone(850)} 0 l`);
    assert.equal(answer.body, '+OK Success\n');
    await peer.hears(850);
    await endpoint.api('uuid_displace', `${endpoint.uuid} stop ${tone(850)}`);
    await peer.hears(440);
  });

  it('of several the latest is heard, and at its end the one before', async () => {
    const { endpoint, peer } = await under.call();
    await endpoint.api('uuid_displace', `${endpoint.uuid} start ${tone(850)}`);
    await endpoint.api('uuid_displace', `${endpoint.uuid} start ${tone(1500, 400)}`);
    await peer.hears(1500);
    await peer.hears(850);
  });

  it('loops without end with flag l, and refuses the same file twice and what is not there', async () => {
    const { endpoint, peer } = await under.call();
    const order = (text: string) => endpoint.api('uuid_displace', `${endpoint.uuid} ${text}`).then(({ body }) => body);
    assert.equal(await order(`start ${tone(700, 150)} 0 l`), '+OK Success\n');
    await peer.hears(700, 600);
    assert.equal(await order(`start ${tone(700, 150)} 0 l`), '-ERR Cannot displace session!\n');
    assert.equal(await order('start no-such-file.wav'), '-ERR Cannot displace session!\n');
    assert.equal(await order('stop no-such-file.wav'), '-ERR Cannot stop displace session!\n');
    assert.equal(await order(`stop ${tone(700, 150)}`), '+OK Success\n');
  });

  it('a mute hides what came before it and not a sound put on top afterwards, and the other side hears the party', async () => {
    const [a, b] = await Promise.all([under.call(), under.call()]);
    [a.peer.saying, b.peer.saying] = [440, 1000];
    await a.endpoint.bridge(b.endpoint);
    await a.peer.hears(1000);
    const { endpoint } = a;
    await endpoint.api('uuid_audio', `${endpoint.uuid} start write mute 1`);
    await endpoint.api('uuid_displace', `${endpoint.uuid} start ${tone(700, 400)} 0 lm`);
    await until(() => a.peer.tonesOf(100).join() === '700', 'the sound alone');
    assert.deepEqual(b.peer.tonesOf(100), [440]);
    await endpoint.api('uuid_displace', `${endpoint.uuid} stop ${tone(700, 400)}`);
    await until(() => a.peer.tonesOf(100).length === 0, 'silence');
    await endpoint.api('uuid_audio', `${endpoint.uuid} start write mute 0`);
    await a.peer.hears(1000);
  });

  it('uuid_audio mutes a direction and, with level 0, opens it again', async () => {
    const { endpoint, peer } = await under.call();
    void endpoint.execute('echo');
    peer.saying = 600;
    await peer.hears(600);
    await endpoint.api('uuid_audio', `${endpoint.uuid} start read mute 1`);
    await endpoint.api('uuid_displace', `${endpoint.uuid} start ${tone(1000, 300)} 0 m`);
    await peer.hears(1000);
    await endpoint.api('uuid_audio', `${endpoint.uuid} start read mute 0`);
    await peer.hears(600);
  });

  it('uuid_audio makes a direction louder or quieter by its level, and stop undoes it', async () => {
    const { endpoint, peer } = await under.call();
    void endpoint.execute('echo');
    peer.saying = 600;
    peer.peak = 4000;
    const comesTo = (peak: number): Promise<void> =>
      until(() => Math.abs(peer.amplitude(600, 100) / peak - 1) < 0.1, `a peak of ${peak}`);
    await comesTo(4000);
    await endpoint.api('uuid_audio', `${endpoint.uuid} start read level -3`);
    await comesTo(1600);
    await endpoint.api('uuid_audio', `${endpoint.uuid} start write level 2`);
    await comesTo(3680);
    await endpoint.api('uuid_audio', `${endpoint.uuid} stop`);
    await comesTo(4000);
  });
});

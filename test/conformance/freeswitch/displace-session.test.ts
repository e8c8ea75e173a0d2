import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { until, withEngine, type EngineUnderTest } from './engine-under-test.ts';

describe('the application displace_session', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  it('lets a party of a bridge hear a whisper that the other does not', async () => {
    const [a, b] = await Promise.all([under.call(), under.call()]);
    b.peer.saying = 600;
    await a.endpoint.bridge(b.endpoint);
    await a.peer.hears(600);
    await a.endpoint.execute('displace_session', 'tone_stream://%(60000,0,1000) m');
    await a.peer.hears(1000);
    assert.deepEqual(a.peer.tonesOf(100), [600, 1000]);
    assert.deepEqual(b.peer.tonesOf(100), []);
    await a.endpoint.execute('stop_displace_session', 'tone_stream://%(60000,0,1000)');
    await until(() => !a.peer.tonesOf(100).includes(1000), 'the end of the whisper');
  });

  it('ends at its limit', async () => {
    const { endpoint, peer } = await under.call();
    await endpoint.execute('displace_session', 'tone_stream://%(60000,0,850) +1');
    await peer.hears(850);
    await until(() => peer.tonesOf(100).length === 0, 'the end');
  });

  engineOnly('FreeSWITCH says nothing', 'says when a file cannot be played', async () => {
    const { endpoint } = await under.call();
    const event = await endpoint.execute('displace_session', 'no-such-file.wav');
    assert.match(event.getHeader('Application-Response') ?? '', /^-ERR /);
  });
});

import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { engineScenario } from '../../support/engine-only.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { until, withEngine, type EngineUnderTest } from './engine-under-test.ts';
import { amplitudeOf } from './fork-server.ts';
import { readWav } from './wav-tracks.ts';

describe('a party whose stream changes in the middle of a call', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started), { hangUp: after });

  sideBySide({
    ...engineScenario(
      'FreeSWITCH records by its own beat, not by the timestamps of the phone',
      'is silent while it sends comfort noise, and the recording stays in step',
      async () => {
        const [a, b] = await Promise.all([under.call(), under.call()]);
        await a.endpoint.bridge(b.endpoint);
        a.peer.saying = 440;
        await b.peer.hears(440);
        const file = join(under.directory, 'rest.wav');
        const before = b.peer.heard.length;
        await a.endpoint.execute('set', 'RECORD_READ_ONLY=true');
        await a.endpoint.recordSession(file);
        await a.endpoint.api('msleep', '300');
        const restMs = await a.peer.rest(600);
        await a.endpoint.api('msleep', '300');
        await a.endpoint.execute('stop_record_session', file);
        const track = (await readWav(file)).tracks[0] ?? new Int16Array();
        const loud = Array.from(
          { length: Math.floor(track.length / 160) },
          (_, at) => amplitudeOf(track.subarray(160 * at, 160 * at + 160), 440, 8000) > 4000,
        );
        const [first, last] = [loud.indexOf(false), loud.lastIndexOf(false)];
        assert.ok(first > 5 && last < loud.length - 5, `loud at both ends: ${loud.map(Number).join('')}`);
        assert.ok(Math.abs(20 * (last - first) - restMs) <= 60, `${20 * (last - first)} ms of rest, sent ${restMs}`);
        const rest = track.subarray(160 * (first + 1), 160 * last);
        assert.ok(rest.every(sample => sample === 0));
        const heard = b.peer.heard.slice(before).filter(frame => amplitudeOf(frame.samples, 440, 8000) < 4000);
        const quiet = heard.slice(1, -1).every(frame => frame.samples.every(sample => Math.abs(sample) <= 8));
        assert.ok(heard.length >= 20 && quiet, 'the other party heard silence');
        await a.endpoint.api('uuid_set_media_stats', a.endpoint.uuid);
        const figures = await a.endpoint.getChannelVariables();
        assert.equal(figures['variable_rtp_audio_in_cng_packet_count'], 6);
      },
    ),

    'is heard on when it sends another stream, whose first key counts': async () => {
      const [a, b] = await Promise.all([under.call(), under.call()]);
      const keys: string[] = [];
      a.endpoint.on('dtmf', ({ dtmf }: { dtmf: string }) => keys.push(dtmf));
      await a.endpoint.bridge(b.endpoint);
      a.peer.saying = 440;
      await b.peer.hears(440);
      await a.peer.press('7');
      await until(() => keys.length === 1, 'the key');
      for (const ssrc of [0x9999, 0xffffffff, 1]) {
        a.peer.ssrc = ssrc;
        b.peer.forget();
        await b.peer.hears(440);
      }
      await a.peer.press('7');
      await until(() => keys.length === 2, 'the key of the new stream');
      assert.deepEqual(keys, ['7', '7']);
    },
  });
});

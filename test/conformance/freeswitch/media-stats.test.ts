import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { withEngine, type EngineUnderTest } from './engine-under-test.ts';

/** `uuid_getvar` of a counter that `uuid_set_media_stats` wrote. */
const counted = async ({ endpoint }: Awaited<ReturnType<EngineUnderTest['call']>>, name: string): Promise<number> => {
  await endpoint.api('uuid_set_media_stats', endpoint.uuid);
  const { body } = await endpoint.api('uuid_getvar', `${endpoint.uuid} rtp_audio_${name}`);
  return Number(body);
};

describe('what the media server counts of a call', () => {
  let under: EngineUnderTest;
  withEngine(started => (under = started));

  engineOnly(
    'FreeSWITCH does not count these',
    'tells when the first audio came, and the jitter of its packets',
    async () => {
      const began = Date.now();
      const call = await under.call();
      await call.endpoint.play('tone_stream://%(600,0,700)');
      const first = await counted(call, 'in_first_packet_epoch_ms');
      assert.ok(first >= began - 1 && first <= Date.now(), `${first} is not between ${began} and now`);
      const jitter = await counted(call, 'in_interarrival_jitter_ms');
      assert.ok(jitter > 0 && jitter < 40, `${jitter} ms`);
      assert.equal(await counted(call, 'in_first_packet_epoch_ms'), first, 'it does not move');
    },
  );
});

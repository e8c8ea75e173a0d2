import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { until, withEngine, type Endpoint, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import { engineScenario, onEngine } from '../../support/engine-only.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import type { RtpPeer } from './rtp-peer.ts';

interface Listening extends Endpoint {
  addCustomEventListener(name: string, handler: (body: unknown, event: EslEvent) => void): void;
}

/** The real one listens to what the party hears, has settings of its own, and is not needed by Trunkline. */
const NO_AVMD = 'our configuration of FreeSWITCH has no mod_avmd';

describe('beeps and tones that the media server waits for', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started), { hangUp: after });

  /** A call with what it is told of beeps. */
  async function call(): Promise<{ endpoint: Endpoint; peer: RtpPeer; told: [string, EslEvent][] }> {
    const { endpoint, peer } = await under.call();
    const told: [string, EslEvent][] = [];
    for (const name of ['start', 'beep', 'stop'])
      (endpoint as Listening).addCustomEventListener(`avmd::${name}`, (_body, event) => told.push([name, event]));
    await endpoint.api('create_uuid'); // its answer comes after the subscriptions
    return { endpoint, peer, told };
  }

  sideBySide({
    ...engineScenario(NO_AVMD, 'tells the beep of an answering machine once, with what it was', async () => {
      const { endpoint, peer, told } = await call();
      await endpoint.execute('avmd_start', 'inbound_channel=1,outbound_channel=0,detection_mode=2');
      assert.deepEqual(
        told.map(([name]) => name),
        ['start'],
      );
      peer.saying = 1000;
      await until(() => told.length === 2, 'the beep');
      const [name, event] = told[1] ?? [];
      assert.equal(name, 'beep');
      const header = (one: string): string => event?.getHeader(one) ?? '';
      assert.equal(header('Call-command'), 'avmd');
      assert.equal(header('Unique-ID'), endpoint.uuid);
      assert.equal(header('Beep-Status'), 'DETECTED');
      assert.match(header('Frequency'), /^(999|1000)\.\d{6}$/);
      assert.ok(Math.abs(Number(header('Amplitude')) - peer.peak) < 400, header('Amplitude'));
      assert.match(header('Detection-time'), /^\d+$/);
      peer.saying = 0;
      await endpoint.api('msleep', '100');
      peer.saying = 1000;
      await endpoint.api('msleep', '300');
      const stopped = await endpoint.execute('avmd_stop');
      assert.equal(stopped.getHeader('variable_avmd_detect'), 'TRUE');
      assert.deepEqual(
        told.map(([one]) => one),
        ['start', 'beep', 'stop'],
      );
      assert.equal(told[2]?.[1].getHeader('Beep-Status'), 'DETECTED');
      assert.match(told[2]?.[1].getHeader('Total-time') ?? '', /^\d+$/);
    }),

    ...engineScenario(NO_AVMD, 'hears no beep in what is played to the party, and says so at the end', async () => {
      const { endpoint, told } = await call();
      await endpoint.execute('avmd_start');
      await endpoint.play('tone_stream://%(300,0,1000)');
      await endpoint.execute('avmd_stop');
      assert.deepEqual(
        told.map(([name, event]) => [name, event.getHeader('Beep-Status')]),
        [
          ['start', null],
          ['stop', 'NOTDETECTED'],
        ],
      );
    }),

    ...engineScenario(NO_AVMD, 'answers the api command avmd as the real server does', async () => {
      const { endpoint, told } = await call();
      const named = `[${endpoint.uuid}] [${String((await endpoint.getChannelVariables())['Channel-Name'])}]`;
      const absent = '00000000-0000-0000-0000-000000000000';
      for (const [words, answer] of [
        [`${endpoint.uuid} start`, `+OK\n ${named} started!\n\n`],
        [`${endpoint.uuid} start`, `-ERR, avmd for FreeSWITCH session [${endpoint.uuid}]\n already started\n\n`],
        [`${endpoint.uuid} stop`, `+OK\n ${named} stopped\n\n`],
        [`${endpoint.uuid} stop`, `+ERR, avmd has not yet been started on\n ${named}\n\n`],
      ] as const)
        assert.equal((await endpoint.api('avmd', words)).body, answer);
      assert.match((await endpoint.api('avmd', `${absent} start`)).body, /^-ERR, no FreeSWITCH session for uuid/);
      assert.match((await endpoint.api('avmd', `${endpoint.uuid} begin`)).body, /^-ERR, did you mean\n api avmd/);
      assert.match((await endpoint.api('avmd')).body, /^-ERR, bad command!/);
      assert.deepEqual(
        told.map(([name]) => name),
        ['start', 'stop'],
      );
    }),

    'tells a tone under its key, once, by tone_detect': async () => {
      const { endpoint, peer } = await under.call();
      const tones: string[] = [];
      endpoint.on('tone', ({ tone }: { tone: string }) => tones.push(tone));
      await endpoint.execute('tone_detect', 'mytone 700 r +5000');
      await endpoint.execute('tone_detect', 'other 1500');
      peer.saying = 700;
      await until(() => tones.length === 1, 'the tone');
      peer.saying = 1000;
      await endpoint.api('msleep', '100');
      peer.saying = 700;
      await endpoint.api('msleep', '250');
      assert.deepEqual(tones, ['mytone']);
      await endpoint.execute('tone_detect', 'mytone 700'); // waits anew
      await until(() => tones.length === 2, 'the tone again');
    },

    ...engineScenario(
      'asked with one tone and with two, FreeSWITCH told none that it played itself',
      'hears tones of what is played to the party by flag w, counts hits, and runs an application',
      async () => {
        const { endpoint, peer } = await under.call();
        await endpoint.execute('tone_detect', 'busy 480,620 w +30 set heard=busy 2');
        const told = once(endpoint, 'tone');
        await endpoint.play('tone_stream://%(150,100,480,620);loops=2');
        assert.deepEqual(await told, [{ tone: 'busy' }]);
        assert.equal((await endpoint.getChannelVariables())['variable_heard'], 'busy');
        assert.equal(peer.saying, 0);
      },
    ),

    'stops waiting when told to, and refuses what is no tone': async () => {
      const { endpoint, peer } = await under.call();
      const tones: string[] = [];
      endpoint.on('tone', ({ tone }: { tone: string }) => tones.push(tone));
      await endpoint.execute('tone_detect', 'stopped 850');
      await endpoint.execute('stop_tone_detect');
      const refused = await endpoint.execute('tone_detect', 'nothing abc');
      await onEngine('FreeSWITCH says so in its log alone', () =>
        assert.equal(refused.getHeader('Application-Response'), '-ERR invalid arguments'),
      );
      await endpoint.execute('tone_detect', 'there 1200');
      for (const hz of [850, 1200]) {
        peer.saying = hz;
        await endpoint.api('msleep', '180');
      }
      await until(() => tones.length > 0, 'the tone that is waited for');
      assert.deepEqual(tones, ['there']);
    },

    ...engineScenario(
      'on FreeSWITCH no tone is heard any more once the time of one is over',
      'stops waiting when its time is over',
      async () => {
        const { endpoint, peer } = await under.call();
        const tones: string[] = [];
        endpoint.on('tone', ({ tone }: { tone: string }) => tones.push(tone));
        await endpoint.execute('tone_detect', 'late 700 r +1');
        await endpoint.api('msleep', '1050');
        await endpoint.execute('tone_detect', 'there 1200');
        for (const hz of [700, 1200]) {
          peer.saying = hz;
          await endpoint.api('msleep', '180');
        }
        await until(() => tones.length > 0, 'the tone that is waited for');
        assert.deepEqual(tones, ['there']);
      },
    ),
  });
});

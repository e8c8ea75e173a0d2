import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { engineScenario } from '../../support/engine-only.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import type { Conference, Member } from './conference-room.ts';
import { createConference, eventsOf, hearsOnly, party, roomName } from './conference-room.ts';
import { until, withEngine, type Endpoint, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import type { RtpPeer } from './rtp-peer.ts';

const require = createRequire(import.meta.url);

type Listener = (body: unknown, event: EslEvent) => void;

/** What other tests have no need of. */
interface WholeEndpoint extends Endpoint {
  mediaserver: unknown;
  muted: boolean;
  say(text: string, options: object): Promise<{ playbackMilliseconds: string }>;
  speak(options: object): Promise<unknown>;
  setGain(gain: string): Promise<void>;
  dub(options: object): Promise<void>;
  startVadDetection(options: object): Promise<void>;
  stopVadDetection(options: object): Promise<void>;
  startTranscription(options: object): Promise<void>;
  startTranscriptionTimers(options: object): Promise<void>;
  stopTranscription(options: object): Promise<void>;
  toggleMute(): Promise<unknown>;
  executeAsync(application: string, argument: string, done: (event: EslEvent) => void): void;
  getNonMatchingConfParticipants(conference: string, tag: string): Promise<number[]>;
  addCustomEventListener(name: string, handler: Listener): void;
  removeCustomEventListener(name: string, handler?: Listener): void;
  resetEslCustomEvent(): void;
  toJSON(): object;
}

interface WholeConference extends Conference {
  mediaserver: unknown;
  agc(value: string): Promise<{ body: string }>;
  toJSON(): object;
}

interface WholeMember extends Member {
  confKick(): Promise<string>;
  confHup(): Promise<{ body: string }>;
}

/** Those of jambonz: one knows no silero, the other ended FreeSWITCH 1.11. */
const NO_MODULES = 'our configuration of FreeSWITCH has neither mod_dub nor mod_vad_detect';

const tone = (hz: number, ms: number): string => `tone_stream://%(${ms},0,${hz})`;

describe('every method of drachtio-fsmrf', () => {
  let under: EngineUnderTest;

  const call = async (): Promise<{ endpoint: WholeEndpoint; peer: RtpPeer }> => {
    const { endpoint, peer } = await under.call();
    return { endpoint: endpoint as WholeEndpoint, peer };
  };

  withEngine(started => (under = started), { hangUp: after });

  it('is in one of these tests', () => {
    const folder = new URL('./', import.meta.url);
    const files = readdirSync(folder).filter(name => name.endsWith('.ts'));
    const tests = files.map(name => readFileSync(new URL(name, folder), 'utf8'));
    for (const part of ['mediaserver', 'endpoint', 'conference']) {
      const { prototype } = require(`drachtio-fsmrf/lib/${part}`) as { prototype: object };
      const methods = Object.getOwnPropertyNames(prototype).filter(name => !/^_|^constructor$/.test(name));
      assert.ok(methods.length > 8);
      const missing = methods.filter(name => !tests.some(text => new RegExp(`\\.${name}\\b`).test(text)));
      assert.deepEqual(missing, [], part);
    }
  });

  sideBySide({
    'MediaServer tells what it has, Endpoint and Conference what they are': async () => {
      const media = under.media as unknown as { hasCapability(what: string[]): boolean; toJSON(): object };
      assert.deepEqual(
        [['ipv4', 'udp'], ['ipv6', 'udp'], ['dtls']].map(what => media.hasCapability(what)),
        [true, false, false],
      );
      const [{ endpoint }, room] = [await call(), (await createConference(under)) as WholeConference];
      assert.equal(endpoint.mediaserver, under.media);
      assert.equal(room.mediaserver, under.media);
      assert.equal((endpoint.toJSON() as { uuid: string }).uuid, endpoint.uuid);
      assert.equal((room.toJSON() as { name: string }).name, room.name);
      assert.ok(Object.keys(media.toJSON()).length > 0);
    },

    'toggleMute silences the caller and lets it be heard again': async () => {
      const { endpoint, peer } = await call();
      endpoint.executeAsync('echo', '', () => undefined);
      peer.saying = 600;
      await peer.hears(600);
      await endpoint.toggleMute();
      assert.equal(endpoint.muted, true);
      await until(() => peer.tonesOf(100).length === 0, 'silence');
      await endpoint.toggleMute();
      assert.equal(endpoint.muted, false);
      await peer.hears(600);
    },

    'say reads what it is given as what it is, speak with the engine it is given': async () => {
      const { endpoint, peer } = await call();
      const options = { sayType: 'number', sayMethod: 'pronounced', lang: 'en' };
      const { playbackMilliseconds } = await endpoint.say('7', options);
      if (!(Number(playbackMilliseconds) > 200)) return 'unable'; // no speech engine on this machine
      assert.ok(peer.loudest() > 1000);
      const spelled = await endpoint.say('7777', { ...options, sayType: 'name_spelled' });
      assert.ok(Number(spelled.playbackMilliseconds) > Number(playbackMilliseconds) + 300, 'each by each');
      for (const ttsEngine of ['flite', 'espeak']) {
        peer.forget();
        await endpoint.speak({ ttsEngine, voice: 'slt', text: 'Yes.' });
        assert.ok(peer.loudest() > 1000, ttsEngine);
      }
    },

    'say takes a gender, a module before the language, and words in any case': async () => {
      const said = async (what: string): Promise<number> => {
        const { endpoint, peer } = await call();
        await endpoint.execute('say', what);
        return peer.loudest();
      };
      const loudest = await Promise.all(
        ['en NUMBER pronounced FEMININE 7', 'en:en current_time PRONOUNCED 0'].map(said),
      );
      if (Math.max(...loudest) === 0) return 'unable'; // no speech engine on this machine
      assert.ok(Math.min(...loudest) > 1000, String(loudest));
    },

    ...engineScenario(
      NO_MODULES,
      'dub plays on tracks beside whatever the caller hears, setGain makes the rest quieter',
      async () => {
        const { endpoint, peer } = await call();
        void endpoint.play(tone(600, 60_000)).catch(() => undefined); // ends with the call
        await endpoint.dub({ action: 'addTrack', track: 'bg' });
        await endpoint.dub({ action: 'playOnTrack', track: 'bg', play: tone(1000, 200), loop: true, gain: '-6' });
        await until(
          () => Math.abs(peer.amplitude(1000, 400) / (peer.amplitude(600, 400) / 2) - 1) < 0.15,
          'half as loud',
        );
        await endpoint.setGain('-20dB');
        await until(() => peer.amplitude(600, 200) < peer.amplitude(1000, 200) / 3, 'the rest to be quieter');
        await endpoint.dub({ action: 'silenceTrack', track: 'bg' });
        await until(() => peer.amplitude(1000, 100) < 100, 'the track to be silent');
        await endpoint.setGain('0dB');
        await endpoint.dub({ action: 'playOnTrack', track: 'bg', play: tone(850, 60_000) });
        await peer.hears(850);
        await endpoint.dub({ action: 'removeTrack', track: 'bg' });
        await until(() => peer.tonesOf(100).join() === '600', 'the play alone');
        const onNone = endpoint.dub({ action: 'playOnTrack', track: 'bg', play: tone(850, 100) });
        await assert.rejects(onNone, /-ERR/);
        await endpoint.dub({ action: 'addTrack', track: 'words' });
        const said = endpoint.dub({ action: 'sayOnTrack', track: 'words', say: 'hello' });
        await said.catch((error: Error) => assert.match(error.message, /-ERR/)); // no speech engine on this machine
        await assert.rejects(endpoint.dub({ action: 'turn', track: 'words' }), /-USAGE/);
      },
    ),

    ...engineScenario(
      NO_MODULES,
      'startVadDetection tells when the caller begins and stops to talk, until stopVadDetection',
      async () => {
        const { endpoint, peer } = await call();
        const told: (string | null)[][] = [];
        const hear: Listener = (_body, event) =>
          told.push([event.getHeader('detected-event'), event.getHeader('media-bugname')]);
        endpoint.addCustomEventListener('vad_detect:detection', hear);
        await endpoint.startVadDetection({ voiceMs: 100, silenceMs: 100, bugname: 'ear' });
        await endpoint.startVadDetection({ vendor: 'silero', strategy: 'one-shot', voiceMs: 60, bugname: 'once' });
        await assert.rejects(endpoint.startVadDetection({ bugname: 'ear' }), /-ERR/);
        peer.saying = 600;
        await until(() => told.length === 2, 'the talk');
        peer.saying = 0;
        await until(() => told.length === 3, 'the silence');
        assert.deepEqual(told, [
          ['start_talking', 'once'],
          ['start_talking', 'ear'],
          ['stop_talking', 'ear'],
        ]);
        await endpoint.stopVadDetection({ bugname: 'ear' });
        await assert.rejects(endpoint.stopVadDetection({ vendor: 'silero', bugname: 'once' }), /-ERR/); // has ended by itself
        endpoint.removeCustomEventListener('vad_detect:detection', hear);
        endpoint.resetEslCustomEvent();
      },
    ),

    'startTranscription is refused at once, not left open, and nobody has tags': async () => {
      const { endpoint } = await call();
      const refused = /Command not found!/;
      for (const vendor of ['google', 'microsoft', 'aws', 'custom:mine']) {
        await assert.rejects(endpoint.startTranscription({ vendor, locale: 'en-US' }), refused, vendor);
        await assert.rejects(endpoint.stopTranscription({ vendor }), refused, vendor);
      }
      await assert.rejects(endpoint.startTranscriptionTimers({ vendor: 'nuance' }), refused);
      const room = roomName();
      const { endpoint: member } = await party(under, room, 440);
      const others = (member as unknown as WholeEndpoint).getNonMatchingConfParticipants(room, 'tag');
      assert.deepEqual(await others, []);
    },

    'a conference and its members do the rest': async () => {
      const room = (await createConference(under)) as WholeConference;
      const events = eventsOf(room);
      const [a, b] = [await party(under, room, 440), await party(under, room, 700)];
      assert.match((await room.agc('on')).body, /^agc /);
      await room.deaf('all');
      await Promise.all([hearsOnly(a), hearsOnly(b)]);
      await room.undeaf('all');
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
      const { memberId } = a.endpoint.conf;
      assert.equal(await (a.endpoint as WholeMember).confKick(), `+OK kicked ${memberId}\n`);
      const left = once(room, 'delMember');
      assert.equal((await (b.endpoint as WholeMember).confHup()).body, `+OK hup ${b.endpoint.conf.memberId}\n`);
      await left;
      await until(() => events.of('del-member').length === 2, 'both to leave');
      assert.equal(await room.getSize(), 1);
    },
  });
});

import { strict as assert } from 'node:assert';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Decoder, Encoder } from '@evan/opus';
import { wavHeader } from '../../../engine/media/sources/wav-format.ts';
import { G722Decoder, G722Encoder } from '../../../engine/media/codecs/g722.ts';
import type { Member } from './conference-room.ts';
import { createConference } from './conference-room.ts';
import { until, type Endpoint, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import { eventually } from '../../support/eventually.ts';
import { engineOnly, onEngine } from '../../support/engine-only.ts';
import { ownServers } from '../../support/own-servers.ts';
import type { ForkingEndpoint } from './fork-server.ts';
import { amplitudeOf, type ForkServer, samplesOf, tone, withForks } from './fork-server.ts';
import type { PeerCodec, RtpPeer } from './rtp-peer.ts';
import { readWav } from './wav-tracks.ts';

/** G.722, as test/unit/engine/media/g722.test.ts holds it against another maker's. */
function g722(): PeerCodec {
  const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
  return {
    payloadType: 9,
    encoding: 'G722/8000',
    clock: 8000,
    rate: 16_000,
    encode: samples => {
      const payload = Buffer.alloc(samples.length / 2);
      encoder.encode(samples, 0, samples.length, payload, 0);
      return payload;
    },
    decode: payload => {
      const samples = new Int16Array(2 * payload.length);
      decoder.decode(payload, 0, payload.length, samples);
      return samples;
    },
  };
}

/** Opus by its makers' library, as a telephone with the full band has it. */
function opus(): PeerCodec {
  const encoder = new Encoder({ channels: 1, sample_rate: 48_000, application: 'voip' });
  const decoder = new Decoder({ channels: 1, sample_rate: 48_000 });
  return {
    payloadType: 111,
    encoding: 'opus/48000/2',
    clock: 48_000,
    rate: 48_000,
    encode: samples => Buffer.from(encoder.encode(samples)),
    decode: payload => samplesOf([Buffer.from(decoder.decode(payload))]),
  };
}

describe('wideband telephones', () => {
  let under: EngineUnderTest;
  let forks: ForkServer;
  /** 5 kHz for two seconds. */
  let wideFile: string;

  withForks(async (...started) => {
    [under, forks] = started;
    const sound = tone(5000, 2000, 16_000);
    wideFile = join(under.directory, 'wide.wav');
    await writeFile(wideFile, Buffer.concat([wavHeader(16_000, 1, sound.length), sound]));
  });

  const wideCall = (codec: PeerCodec = g722()): Promise<{ endpoint: Endpoint; peer: RtpPeer }> =>
    under.call({}, undefined, codec);

  /** Resolves once a telephone hears these tones in 200 ms, and none of the others. */
  async function hears(peer: RtpPeer, present: number[], absent: number[] = []): Promise<void> {
    const levels = (hz: number[]): number[] => hz.map(one => Math.round(peer.amplitude(one, 200)));
    await until(
      () => levels(present).every(one => one > 2500) && levels(absent).every(one => one < 150),
      `${present.join()} Hz without ${absent.join()} Hz`,
      5000,
    ).catch((error: Error) => {
      throw new Error(`${error.message}: heard ${levels(present).join()} and ${levels(absent).join()}`);
    });
  }

  /** FreeSWITCH keeps the first half second back. */
  const somethingToRecord = async (peer: RtpPeer): Promise<void> => {
    const target = peer.packets + (ownServers() ? 60 : 20);
    await until(() => peer.packets >= target, 'some of it to record');
  };

  /** A recording, which FreeSWITCH may write after it has said that it is over. */
  const recorded = (file: string): ReturnType<typeof readWav> =>
    eventually(
      'a whole recording',
      () => readWav(file),
      ({ tracks }) => (tracks[0]?.length ?? 0) > 0,
    );

  for (const [name, one, other] of [
    ['G.722 to G.722', g722, g722],
    ['G.722 to Opus', g722, opus],
    ['Opus to Opus', opus, opus],
  ] as const)
    it(`hear 5 kHz of each other, ${name}`, async () => {
      const [a, b] = await Promise.all([wideCall(one()), wideCall(other())]);
      await a.endpoint.bridge(b.endpoint);
      [a.peer.saying, b.peer.saying] = [5000, 6000];
      await Promise.all([hears(b.peer, [5000], [3000, 6000]), hears(a.peer, [6000], [2000, 5000])]);
    });

  it('mix with a narrowband one in a conference, who hears their 1 kHz and nothing folded back from their 5 kHz', async () => {
    const conference = await createConference(under);
    const [a, b, c] = await Promise.all([wideCall(), wideCall(opus()), under.call()]);
    for (const { endpoint } of [a, b, c]) await (endpoint as Member).join(conference);
    [a.peer.saying, b.peer.saying, c.peer.saying] = [5000, 1000, 600];
    await Promise.all([
      hears(a.peer, [1000, 600], [5000]),
      hears(b.peer, [5000, 600], [1000, 3000]),
      hears(c.peer, [1000], [600, 3000]),
    ]);
    assert.equal(String(await conference.get('rate')), '16000');
    // FreeSWITCH records a conference at its own rate, whatever a member says.
    for (const expected of ownServers() ? [16_000] : [16_000, 8000]) {
      const file = join(under.directory, `conference-${expected}.wav`);
      if (expected === 8000) await a.endpoint.set('record_sample_rate', '8000');
      await conference.startRecording(file);
      await somethingToRecord(c.peer);
      await conference.stopRecording(file);
      const { rate, tracks } = await recorded(file);
      const [wide = 0, folded = 0, ...audible] = [5000, 3000, 1000, 600].map(hz =>
        amplitudeOf((tracks[0] ?? new Int16Array()).subarray(800, 800 + rate / 10), hz, rate),
      );
      assert.ok(rate === expected && audible.every(one => one > 2500), `${rate} Hz: ${audible.join()}`);
      if (expected === 16_000) assert.ok(wide > 2500 && folded < 150, `${wide}, ${folded}`);
      else assert.ok(folded < 150, `${folded}`);
    }
    await onEngine('its promise never settles there', () => conference.destroy());
  });

  it('are recorded and forked at 16 kHz, hear a file of 16 kHz as it is, and what is streamed into the call', async () => {
    const { endpoint, peer } = await wideCall();
    peer.saying = 6000;
    const file = join(under.directory, 'wide-call.wav');
    await endpoint.set('RECORD_STEREO', 'true');
    await endpoint.recordSession(file);
    const played = endpoint.play(wideFile);
    await (endpoint as ForkingEndpoint).forkAudioStart({
      wsUrl: forks.url('/wide'),
      mixType: 'stereo',
      sampling: '16000',
      bidirectionalAudio: { enabled: 'true', streaming: 'true', sampleRate: '16000' },
    });
    const far = await forks.connected('/wide');
    await hears(peer, [5000], [3000]);
    if (ownServers()) await somethingToRecord(peer);
    far.socket.send(tone(7000, 1000, 16_000));
    await hears(peer, [5000, 7000], [1000]);
    await endpoint.api('uuid_record', `${endpoint.uuid} stop ${file}`);
    const { rate, tracks } = await recorded(file);
    const levels = tracks.map((track, at) => amplitudeOf(track.subarray(-6400), [6000, 5000][at] ?? 0, rate));
    assert.ok(rate === 16_000 && levels.every(one => one > 2500), `${rate} Hz: ${levels.join()}`);
    const frames = far.frames.slice(-15).map(({ bytes }) => bytes);
    const forked = [6000, 5000].map((hz, side) => amplitudeOf(samplesOf(frames, side, 2), hz, 16_000));
    assert.ok(
      forked.every(one => one > 2500),
      forked.join(),
    );
    const { playbackMilliseconds, playbackLastOffsetPos } = await played;
    assert.deepEqual([playbackMilliseconds, playbackLastOffsetPos], ['2000', '32000']);
    const figures = await endpoint.getChannelVariables();
    assert.equal(Number(figures['variable_record_samples']), Number(figures['variable_record_ms']) * 16);
  });

  it('are told of at the rate of their codec', async () => {
    const calls = await Promise.all([under.call(), wideCall(), wideCall(opus())]);
    const figures = await Promise.all(calls.map(({ endpoint }) => endpoint.getChannelVariables()));
    const told = figures.map(one => ['Channel-Read-Codec-Rate', 'variable_write_rate'].map(name => String(one[name])));
    assert.deepEqual(told, [
      ['8000', '8000'],
      ['16000', '16000'],
      ['48000', '48000'],
    ]);
  });

  engineOnly(
    'for want of mod_avmd and mod_vad_detect',
    'are listened to for beeps, tones and talk, and their comfort noise is silence',
    async () => {
      const { endpoint, peer } = await wideCall();
      const other = await wideCall(opus());
      const told: string[] = [];
      const listening = endpoint as Endpoint & {
        addCustomEventListener(name: string, listener: (body: unknown, event: EslEvent) => void): void;
      };
      listening.addCustomEventListener('avmd::beep', (_body, event) =>
        told.push(`beep of ${Math.round(Number(event.getHeader('Frequency')))}`),
      );
      listening.addCustomEventListener('vad_detect:detection', (_body, event) =>
        told.push(event.getHeader('detected-event') ?? ''),
      );
      listening.on('tone', ({ tone: key }: { tone: string }) => told.push(`tone ${key}`));
      await endpoint.api('create_uuid'); // its answer comes after the subscriptions
      await endpoint.execute('avmd_start');
      await endpoint.execute('tone_detect', 'high 1000 r');
      await endpoint.execute('tone_detect', 'wide 6000 r');
      await endpoint.api('uuid_vad_detect', `${endpoint.uuid} start continuous 2 100 100 ear`);
      peer.saying = 1000;
      await until(() => told.length === 3, 'the beep, the tone and the talk');
      assert.deepEqual(told.toSorted(), ['beep of 1000', 'start_talking', 'tone high']);
      peer.saying = 6000;
      await until(() => told.at(-1) === 'tone wide', 'the tone that only wideband has');
      peer.saying = 1000;
      await endpoint.bridge(other.endpoint);
      await hears(other.peer, [1000]);
      const resting = peer.rest(600);
      await until(() => other.peer.loudest(100) < 50, 'silence');
      assert.ok((await resting) >= 500);
      await hears(other.peer, [1000]);
    },
  );

  it('hear what displaces, is dubbed or whispered as it is, and keys that are pressed are told once', async () => {
    const { endpoint, peer } = await wideCall(opus());
    const digits: string[] = [];
    endpoint.on('dtmf', ({ dtmf }: { dtmf: string }) => digits.push(dtmf));
    const order = async (command: string, rest: string): Promise<void> =>
      assert.match((await endpoint.api(command, rest)).body, /^\+OK/);
    await order('uuid_displace', `${endpoint.uuid} start ${wideFile} 0 l`);
    await hears(peer, [5000], [3000, 6500]);
    await onEngine('mod_dub is not in our configuration', async () => {
      await order('uuid_dub', `^^|${endpoint.uuid}|addTrack|t`);
      await order('uuid_dub', `^^|${endpoint.uuid}|playOnTrack|t|tone_stream://%(60000,0,6500)|loop`);
      await hears(peer, [5000, 6500], [3000, 1500]);
    });
    await order('uuid_displace', `${endpoint.uuid} stop ${wideFile}`);
    await onEngine('mod_dub is not in our configuration', () => hears(peer, [6500], [5000]));
    await peer.press('5');
    await until(() => digits.length === 1, 'the key');
    assert.deepEqual(digits, ['5']);
  });
});

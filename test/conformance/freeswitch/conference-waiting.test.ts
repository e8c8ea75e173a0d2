import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatWav } from '../../../scripts/phone/wav.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { until, withEngine, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import type { Conference, Party } from './conference-room.ts';
import { assertRefused, caller, createConference, eventsOf, hearsOnly, party, roomName } from './conference-room.ts';

const tone = (hz: number, ms = 200): string => `tone_stream://%(${ms},0,${hz})`;

/** 200 ms of a tone: with recordings the engine asks for a pin as quickly as FreeSWITCH does in our configuration. */
const sine = (hz: number): Int16Array =>
  Int16Array.from({ length: 1600 }, (_, at) => 6000 * Math.sin((2 * Math.PI * hz * at) / 8000));

describe('what a conference does by itself, and what its members do to it', function () {
  this.timeout(15_000);
  let under: EngineUnderTest;

  const command = (room: string, words: string): Promise<string> => under.media.api(`conference ${room} ${words}`);
  const idOf = (one: Party): number => one.endpoint.conf.memberId;

  const press = async ({ peer }: Party, keys: string): Promise<void> => {
    for (const key of keys) await peer.press(key);
  };

  /** Resolves when the next sound begins, which asks for a pin or says that it is wrong. */
  const asked = ({ endpoint }: Party): Promise<unknown> => once(endpoint, 'playback-start');

  withEngine(
    async started => {
      under = started;
      await mkdir(join(under.directory, 'conference'));
      for (const [file, hz] of [
        ['conf-pin', 440],
        ['conf-bad-pin', 600],
      ] as const)
        await writeFile(join(under.directory, 'conference', `${file}.wav`), formatWav(sine(hz)));
    },
    { hangUp: after },
  );

  sideBySide({
    'plays music to one who waits alone, until another comes and again after that one has gone': async () => {
      const name = roomName();
      const a = await caller(under, 440);
      await a.endpoint.set('conference_moh_sound', tone(350, 100));
      await a.endpoint.join(name);
      await hearsOnly(a, 350);
      const b = await party(under, name, 700);
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
      await b.endpoint.unjoin();
      await hearsOnly(a, 350);
      assert.equal(await command(name, `moh ${tone(600)}`), '+OK moh\n');
      await hearsOnly(a, 600);
      await command(name, 'moh off');
      await hearsOnly(a);
      await command(name, 'moh on');
      await hearsOnly(a, 600);
      await a.endpoint.unjoin();
      await hearsOnly(a);
    },

    'spares one with nomoh the music, and plays it to all who wait for the moderator': async () => {
      const [quiet, waiting] = [roomName(), roomName()];
      const one = await party(under, quiet, 440, { flags: { nomoh: true } });
      await command(quiet, `moh ${tone(350)}`);
      const [a, b] = await Promise.all([caller(under, 440), caller(under, 700)]);
      for (const { endpoint } of [a, b]) await endpoint.set('conference_moh_sound', tone(350));
      await a.endpoint.join(waiting, { flags: { waitMod: true } });
      await b.endpoint.join(waiting);
      await Promise.all([hearsOnly(one), hearsOnly(a, 350), hearsOnly(b, 350)]);
      const moderator = await party(under, waiting, 1000, { flags: { moderator: true } });
      await Promise.all([hearsOnly(a, 700, 1000), hearsOnly(moderator, 440, 700)]);
    },

    'marks with a sound that somebody comes, and that somebody goes': async () => {
      const name = roomName();
      const a = await party(under, name, 0);
      assert.equal(
        await command(name, `enter_sound file ${tone(600)}`),
        `+OK ${name} enter sound file set to ${tone(600)}\n`,
      );
      await command(name, `exit_sound file ${tone(850)}`);
      const b = await party(under, name, 0);
      await Promise.all([a.peer.hears(600), b.peer.hears(600)]);
      await hearsOnly(a);
      await Promise.all([b.endpoint.unjoin(), a.peer.hears(850, 60)]);
      const c = await caller(under, 0);
      await c.endpoint.set({ conference_enter_sound: tone(1200), conference_exit_sound: tone(1500) });
      await Promise.all([c.endpoint.join(name), a.peer.hears(1200)]);
      await Promise.all([c.endpoint.destroy(), a.peer.hears(1500)]);
      assert.equal(await command(name, 'enter_sound off'), `+OK ${name} enter sounds off (${tone(600)})\n`);
      await hearsOnly(a);
      a.peer.forget();
      const d = await party(under, name, 700);
      await hearsOnly(a, 700);
      assert.ok(d.endpoint.connected);
    },

    'lets a member with conference_controls=default press what the stock keys of the real server are for': async () => {
      const conference = await createConference(under);
      const events = eventsOf(conference);
      const b = await party(under, conference, 700);
      const a = await caller(under, 440);
      await a.endpoint.set('conference_controls', 'default');
      await a.endpoint.join(conference);
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
      await a.peer.press('0');
      await Promise.all([hearsOnly(a, 700), hearsOnly(b)]);
      await a.peer.press('0');
      await hearsOnly(b, 440);
      await a.peer.press('*');
      await Promise.all([hearsOnly(a), hearsOnly(b)]);
      await a.peer.press('*');
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
      await press(a, '3449');
      await until(() => events.of('energy-level').length === 1, 'the last key');
      assert.deepEqual(
        ['volume-level', 'gain-level', 'energy-level'].map(action =>
          events.of(action).map(event => event.getHeader('New-Level')),
        ),
        [['1'], ['-1', '-2'], ['300']],
      );
      const { body } = await conference.list();
      assert.match(body, new RegExp(`^${idOf(a)};.*;-2;1;300$`, 'm'));
      const left = once(conference, 'delMember');
      await a.peer.press('#');
      const [event] = (await left) as [EslEvent];
      assert.equal(event.getHeader('Member-ID'), String(idOf(a)));
      await Promise.all([hearsOnly(a), hearsOnly(b)]);
    },

    'leaves the keys of everybody else alone': async () => {
      const name = roomName();
      const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
      await press(a, '0*#');
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    },

    'asks a caller who brings no pin for it, three times': async () => {
      const name = roomName();
      await party(under, name, 440);
      assert.equal(await command(name, 'pin 42'), `+OK Pin for conference ${name} set: 42\n`);
      const two = await caller(under, 700);
      const joined = two.endpoint.join(name);
      await asked(two);
      const wrong = asked(two);
      await press(two, '41');
      await wrong; // that it is wrong
      await asked(two); // once more
      await press(two, '42');
      await joined;
      await hearsOnly(two, 440);
      const three = await caller(under, 1000);
      await three.endpoint.set('supplied_pin', '42');
      await three.endpoint.join(name);
      await hearsOnly(three, 440, 700);
      const four = await caller(under, 600);
      let sounds = 0;
      four.endpoint.on('playback-start', () => (sounds += 1));
      const refused = four.endpoint.execute('conference', name);
      for (const turn of [1, 3, 5]) {
        await until(() => sounds === turn, `question ${(turn + 1) / 2}`);
        await press(four, '41');
      }
      assertRefused(await refused, /another pin$/);
      assert.equal(sounds, 6);
    },

    'lets the others hear a member louder or quieter, by command and from the start by variable': async () => {
      const name = roomName();
      const [a, b, c] = await Promise.all([caller(under, 440), party(under, name, 700), caller(under, 1000)]);
      for (const { peer } of [a, c]) peer.peak = 3000;
      await a.endpoint.join(name);
      await c.endpoint.set('conference_join_volume_in', '-2');
      await c.endpoint.join(name);
      await command(name, `volume_in ${idOf(a)} 2`);
      const times = (hz: number): number => b.peer.amplitude(hz, 200) / 3000;
      await until(
        () => Math.abs(times(440) - 2.3) < 0.1 && Math.abs(times(1000) - 0.6) < 0.1,
        '2.3 and 0.6 times as loud',
      );
    },

    'lets a member hear everything quieter or louder, what is played to it alone, too': async () => {
      const name = roomName();
      const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
      await command(name, `volume_out ${idOf(b)} -4`);
      await until(() => Math.abs(b.peer.amplitude(440, 200) - 1600) < 160, 'a fifth of it');
      await b.endpoint.confPlay(tone(1000, 1000));
      await until(() => Math.abs(b.peer.amplitude(1000, 200) - 2040) < 200, 'a fifth of the sound');
      await command(name, `volume_out ${idOf(b)} 0`);
      await until(() => Math.abs(b.peer.amplitude(440, 200) - 8000) < 800, 'all of it');
      await hearsOnly(a, 700);
    },

    'keeps from the others what is fainter than the energy that was set, and lets talk through': async () => {
      const name = roomName();
      const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
      a.peer.peak = 1000;
      await until(() => Math.abs(b.peer.amplitude(440, 200) - 1000) < 100, 'the faint tone, which nobody minds');
      assert.equal(await command(name, `energy ${idOf(a)} 900`), `Energy ${idOf(a)} = 900\n`);
      await hearsOnly(b);
      a.peer.peak = 8000;
      await hearsOnly(b, 440);
    },

    'takes a member out of the talk by hold, with a sound to wait by, and back': async () => {
      const conference = await createConference(under);
      const events = eventsOf(conference);
      const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
      await hearsOnly(b, 440);
      assert.equal(await command(conference.name, `hold ${idOf(b)} ${tone(350, 5000)}`), `+OK hold ${idOf(b)}\n`);
      await Promise.all([hearsOnly(a), hearsOnly(b, 350)]);
      assert.match((await conference.list()).body, new RegExp(`^${idOf(b)};.*;hold;0;0;100$`, 'm'));
      assert.equal(await command(conference.name, `unhold ${idOf(b)}`), `+OK unhold ${idOf(b)}\n`);
      await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
      assert.deepEqual(
        ['hold-member', 'unhold-member'].map(action => events.of(action)[0]?.getHeader('Hold')),
        ['true', 'false'],
      );
    },
  });

  engineOnly('audio-always is a flag of conferences there', 'hears one with audioAlways however faint', async () => {
    const name = roomName();
    const b = await party(under, name, 700);
    const always = await caller(under, 1000);
    always.peer.peak = 1000;
    await always.endpoint.set('conference_join_energy_level', '900');
    await always.endpoint.join(name, { flags: { audioAlways: true } });
    await hearsOnly(b, 1000);
  });

  engineOnly(
    'our configuration gives it no voice, and it says +OK',
    'reads a text aloud to everybody, or to one member alone',
    async function () {
      const conference: Conference = await createConference(under);
      const events = eventsOf(conference);
      const [a, b] = [await party(under, conference, 0), await party(under, conference, 0)];
      const said = await command(conference.name, `saymember ${idOf(a)} Hello, Joe`);
      if (said === '-ERR (saymember) Error!\n') return this.skip(); // no speech engine on this machine
      assert.equal(said, '+OK (saymember) OK\n');
      await until(() => a.peer.loudest() > 1000, 'the voice');
      assert.ok(b.peer.loudest() < 200);
      assert.equal(await command(conference.name, 'say hello to all'), '+OK (say) OK\n');
      await until(() => b.peer.loudest() > 1000, 'the voice, too');
      assert.deepEqual(
        ['speak-text-member', 'speak-text'].map(action => events.of(action)[0]?.getHeader('Text')),
        ['Hello, Joe', 'hello to all'],
      );
    },
  );
});

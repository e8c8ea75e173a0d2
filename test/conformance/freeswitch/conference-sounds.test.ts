import { strict as assert } from 'node:assert';
import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly, onEngine } from '../../support/engine-only.ts';
import type { Party } from './conference-room.ts';
import { assertRefused, caller, createConference, eventsOf, hearsOnly, party, roomName } from './conference-room.ts';
import { until, withEngine, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import { wavHeader } from '../../../engine/media/sources/wav-format.ts';
import { tone } from './fork-server.ts';
import { readWav } from './wav-tracks.ts';

/** A conference of narrowband telephones has 8 kHz on the engine, and always 16 on FreeSWITCH. */
const WIDTH = ownServers() ? 2 : 1;

describe('sounds, recordings and events of a conference', function () {
  this.timeout(15_000);
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  it('plays to everybody over their talk, and tells how much when it is done', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    const played = conference.play('tone_stream://%(800,0,1200)');
    await Promise.all([hearsOnly(a, 700, 1200), hearsOnly(b, 440, 1200)]);
    assert.deepEqual(await played, {
      seconds: Math.floor(counted(800) / 1000),
      milliseconds: counted(800),
      samples: counted(6400) * WIDTH,
    });
    await hearsOnly(a, 700);
  });

  it('plays a list in its order, also when every sound is shorter than a command takes', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 0);
    const heard: number[] = [];
    const played = conference.play(['tone_stream://%(300,0,1000)', 'tone_stream://%(300,0,1500)']);
    for (const hz of [1000, 1500]) await a.peer.hears(hz).then(() => heard.push(hz));
    assert.equal((await played).milliseconds, counted(600));
    const short = ['tone_stream://%(20,0,1000)', 'silence_stream://20', 'tone_stream://%(20,0,1500)'];
    assert.equal((await conference.play(short)).samples, counted(480) * WIDTH);
  });

  it('plays to one member alone', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    const events = eventsOf(conference);
    await a.endpoint.confPlay('tone_stream://%(500,0,1200)');
    await Promise.all([hearsOnly(a, 700, 1200), hearsOnly(b, 440)]);
    await until(() => events.actions.includes('play-file-member-done'), 'the end');
    const [done] = events.of('play-file-member-done');
    assert.deepEqual(
      ['Member-ID', 'milliseconds', 'File'].map(name => done?.getHeader(name)),
      [String(a.endpoint.conf.memberId), String(counted(500)), 'tone_stream://%(500,0,1200)'],
    );
    await assert.rejects(a.endpoint.confPlay('nosuch.wav'), /nosuch\.wav not found/);
  });

  it('stops what plays, and what waits', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 0);
    const played = conference.play(['tone_stream://%(9000,0,1000)', 'tone_stream://%(9000,0,1500)']);
    await hearsOnly(a, 1000);
    assert.equal(await under.media.api(`conference ${conference.name} stop current`), '+OK Stopped 1 files.\n');
    await hearsOnly(a, 1500);
    assert.equal(await under.media.api(`conference ${conference.name} stop all`), '+OK Stopped 1 files.\n');
    await played;
    await hearsOnly(a);
  });

  it('pauses a sound, goes on with it, and goes to another place in it', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 0);
    const file = join(under.directory, 'two-tones.wav');
    const sound = Buffer.concat([tone(1000, 5000, 8000), tone(1500, 5000, 8000)]);
    await writeFile(file, Buffer.concat([wavHeader(8000, 1, sound.length), sound]));
    const order = (words: string) => under.media.api(`conference ${conference.name} ${words}`);
    await order(`play ${file}`);
    await hearsOnly(a, 1000);
    assert.match(await order('play_status'), new RegExp(`^\\+OK \\d+/\\d+ ${file}\n$`));
    assert.equal(await order('pause_play'), '+OK Pause\n');
    await hearsOnly(a);
    assert.equal(await order('pause_play'), '+OK Resume\n');
    await hearsOnly(a, 1000);
    assert.equal(await order('file_seek 6000'), '+OK seek to position 48000\n');
    await hearsOnly(a, 1500);
    await onEngine('it goes elsewhere in a sound once', async () => {
      assert.match(await order('file_seek -5000'), /^\+OK seek to position \d+\n$/);
      await hearsOnly(a, 1000);
      assert.match(await order('file_seek +5500'), /^\+OK seek to position \d+\n$/);
      await hearsOnly(a, 1500);
      assert.equal(await order('file_seek 500'), '+OK seek to position 4000\n');
      await hearsOnly(a, 1000);
    });
    assert.equal(await order('play_status 999999'), '-ERR Member: 999999 not found.\nplay_status [<member_id>]');
    await order('stop all');
    await until(async () => (await order('play_status')) === '-ERR Nothing is playing\n', 'the end');
  });

  engineOnly(
    'FreeSWITCH tells nobody any more',
    'settles what waits for a sound when the conference ends',
    async () => {
      const conference = await createConference(under);
      const a = await party(under, conference, 0);
      const played = conference.play(['tone_stream://%(9000,0,1000)', 'tone_stream://%(9000,0,1500)']);
      await hearsOnly(a, 1000);
      await under.release(conference.endpoint);
      assert.ok((await played).milliseconds < 9000);
    },
  );

  it('keeps variables, and tells of itself as XML and with other marks between', async () => {
    const conference = await createConference(under);
    const { name, memberId } = conference;
    const order = (words: string) => under.media.api(`conference ${words}`);
    assert.equal(await order(`${name} setvar purpose fish&chips`), '+OK\n');
    assert.equal(await order(`${name} getvar purpose`), 'fish&chips');
    assert.match(await order(`${name} list delim ,`), new RegExp(`^${memberId},[^,]+,${conference.endpoint.uuid},`));
    const xml = await order(`${name} xml_list`);
    assert.match(xml, new RegExp(`<conference name="${name}"[^>]* uuid="${conference.uuid}"`));
    assert.match(xml, /<variable name="purpose" value="fish(&amp;|&#38;)chips">/);
    assert.match(xml, new RegExp(`<member type="caller">\\s*<id>${memberId}</id>`));
    assert.match(xml, new RegExp(`<uuid>${conference.endpoint.uuid}</uuid>`));
    assert.match(xml, /<can_speak>false<\/can_speak>/);
    assert.match(await order('xml_list'), new RegExp(`<conference name="${name}"`));
  });

  it('says that a sound is missing, and goes on at once', async () => {
    const conference = await createConference(under);
    const events = eventsOf(conference);
    assert.deepEqual(await conference.play('/nonexistent.wav'), { seconds: 0, milliseconds: 0, samples: 0 });
    await until(() => events.of('play-file').length === 1, 'the event');
    assert.equal(events.of('play-file')[0]?.getHeader('Error'), 'File could not be played');
  });

  engineOnly('FreeSWITCH has no bounds', 'keeps the queue of sounds within bounds', async () => {
    const conference = await createConference(under);
    const ask = () => under.media.api(`conference ${conference.name} play silence_stream://60000`);
    const answers = await Promise.all(Array.from({ length: 105 }, ask));
    assert.equal(answers.filter(answer => answer.startsWith('+OK')).length, 100);
    assert.match(answers.at(-1) ?? '', /^-ERR \(play\) too many/);
  });

  it('records everybody, and leaves out what is said during a pause', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    const file = join(under.directory, 'conference.wav');
    const events = eventsOf(conference);
    assert.equal(await conference.startRecording(file), `+OK Record file ${file}\n`);
    assert.equal((await conference.chkRecord()).body, `+OK Record file ${file}\n`);
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    await new Promise(resolve => setTimeout(resolve, 400)); // what is recorded is time itself
    await conference.pauseRecording(file);
    [a, b].forEach(one => (one.peer.saying = 1000));
    await Promise.all([hearsOnly(a, 1000), hearsOnly(b, 1000)]);
    [a, b].forEach(one => (one.peer.saying = 0));
    await Promise.all([hearsOnly(a), hearsOnly(b)]);
    await conference.resumeRecording(file);
    const stop = await conference.stopRecording(file);
    assert.equal(
      stop.replace(/\d files/, '? files'),
      `Stopped recording file ${file}\n+OK Stopped recording ? files\n`,
    );
    await until(() => events.of('stop-recording').length === 1, 'the event');
    assert.deepEqual(
      events.actions.filter(action => action.includes('record')),
      ['start-recording', 'pause-recording', 'resume-recording', 'stop-recording'],
    );
    const [stopped] = events.of('stop-recording');
    const bytes = await readFile(file);
    assert.equal(stopped?.getHeader('Record-File-Size'), String(bytes.length));
    assert.equal(Number(stopped?.getHeader('Samples-Out')), (await readWav(file)).tracks[0]?.length);
    assert.equal((await conference.chkRecord()).body, '-ERR Conference is not being recorded.\n');
    assert.deepEqual(await tonesIn(file), [440, 700]);
  });

  it('completes a recording when the conference ends', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 440);
    const file = join(under.directory, 'ended.wav');
    const events = eventsOf(conference);
    await conference.startRecording(file);
    await a.endpoint.api('msleep', '300');
    await under.release(conference.endpoint);
    await until(async () => /not found/.test(await under.media.api(`conference ${conference.name} list`)), 'the end');
    if (!ownServers()) {
      // FreeSWITCH tells it after the connection of the control leg is gone.
      await until(() => events.actions.includes('conference-destroy'), 'the event');
      assert.ok(events.actions.indexOf('stop-recording') < events.actions.indexOf('conference-destroy'));
    }
    assert.deepEqual(await tonesIn(file), [440]);
  });

  it('refuses to record to a file that it records to already', async () => {
    const conference = await createConference(under);
    const file = join(under.directory, 'twice.wav');
    await conference.startRecording(file);
    await assert.rejects(conference.startRecording(file), /already being used for recording/);
  });

  engineOnly(
    'FreeSWITCH says that it does',
    'refuses to record what cannot be written, and to stop what is not recorded',
    async () => {
      const conference = await createConference(under);
      await assert.rejects(conference.startRecording('/dev/null/below-a-file.wav'), /Cannot record/);
      await assert.rejects(conference.stopRecording('/nosuch.wav'), /non-existant recording/);
    },
  );

  it('tells who talks, and who has the floor', async () => {
    const conference = await createConference(under);
    const events = eventsOf(conference);
    const a = await party(under, conference, 440);
    const id = String(a.endpoint.conf.memberId);
    await until(() => events.actions.includes('start-talking'), 'the beginning of talk');
    await until(() => events.of('floor-change').some(event => event.getHeader('Member-ID') === id), 'the floor');
    const [talk] = events.of('start-talking');
    assert.deepEqual(
      ['Member-ID', 'Talking', 'Speak', 'Energy-Level', 'Member-Type'].map(name => talk?.getHeader(name)),
      [id, 'true', 'true', '100', 'member'],
    );
    assert.ok(Math.abs(Number(talk?.getHeader('Current-Energy')) - 5000) < 300);
    a.peer.saying = 0;
    await until(() => events.actions.includes('stop-talking'), 'the end of talk');
    const told = events.about(a.endpoint.uuid).map(event => event.getHeader('Action'));
    assert.deepEqual(
      told.filter(action => action !== 'floor-change'),
      ['add-member', 'start-talking', 'stop-talking'],
    );
  });

  it('gives the floor to the newest member when its holder leaves and nobody talks', async () => {
    const conference = await createConference(under);
    const [, b] = [await party(under, conference, 0), await party(under, conference, 0)];
    const talker = await party(under, conference, 440);
    const events = eventsOf(conference);
    const lastFloor = () => events.of('floor-change').at(-1)?.getHeader('Member-ID');
    await until(() => lastFloor() === String(talker.endpoint.conf.memberId), 'the talker to have the floor');
    await talker.endpoint.destroy();
    await until(() => lastFloor() === String(b.endpoint.conf.memberId), 'the newest member to have the floor');
    assert.equal(events.of('floor-change').at(-2)?.getHeader('Member-ID'), null);
    assert.match((await conference.list()).body, new RegExp(`^${b.endpoint.conf.memberId};.*;hear\\|speak\\|floor;`));
  });

  it('tells a muted member with mute-detect that nobody hears it', async () => {
    const conference = await createConference(under);
    const told = once(conference, 'muteDetect');
    const a = await party(under, conference, 440, { flags: { mute: true, muteDetect: true } });
    const [event] = (await told) as [EslEvent];
    assert.equal(event.getHeader('Member-ID'), String(a.endpoint.conf.memberId));
  });

  it('raises the headers of a leaving member in the order of the real server', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 440);
    const events = eventsOf(conference);
    await until(
      () => events.of('floor-change').some(one => one.getHeader('Unique-ID') === a.endpoint.uuid),
      'the floor',
    );
    await a.endpoint.unjoin();
    await until(() => events.actions.includes('del-member'), 'the end');
    assert.deepEqual(events.actions.slice(events.actions.indexOf('kick-member')).slice(0, 3), [
      'kick-member',
      'floor-change',
      'del-member',
    ]);
    const [gone] = events.of('del-member');
    assert.deepEqual(
      ['Conference-Name', 'Conference-Size', 'Conference-Ghosts', 'Conference-Profile-Name', 'Unique-ID'].map(name =>
        gone?.getHeader(name),
      ),
      [conference.name, '1', '0', 'default', a.endpoint.uuid],
    );
  });

  it('answers a command before it tells what the command has done', async () => {
    const conference = await createConference(under);
    const { endpoint, name } = conference;
    const { endpoint: member } = await party(under, name, 0);
    const id = member.conf.memberId;
    const file = join(under.directory, 'order.wav');
    const steps: [string, string, string][] = [
      ['lock', 'lock', '+OK'],
      [`mute ${id}`, 'mute-member', '+OK'],
      [`dtmf ${id} 1`, 'dtmf-member', '+OK'],
      ['play silence_stream://20', 'play-file', '+OK'],
      ['play nosuch.wav', 'play-file', '-ERR'],
      [`recording start ${file}`, 'start-recording', '+OK'],
      [`recording stop ${file}`, 'stop-recording', 'Stopped'],
      [`kick ${id}`, 'kick-member', '+OK'],
    ];
    const order: string[] = [];
    const { conn } = endpoint as unknown as { conn: EventEmitter };
    conn.on('esl::event::CUSTOM::*', (event: EslEvent) => order.push(event.getHeader('Action') ?? ''));
    const ask = endpoint.api.bind(endpoint) as unknown as (
      command: string,
      args: string,
      onReply: (error: unknown, event: { getBody(): string }) => void,
    ) => void;
    for (const [command, action, answer] of steps) {
      order.length = 0;
      ask('conference', `${name} ${command}`, (_error, event) => order.push(event.getBody()));
      await until(() => order.includes(action), action);
      const relevant = order.filter(one => one === action || one.startsWith(answer));
      assert.equal(relevant[1], action, `${command}: ${order.join()}`);
    }
  });

  it('answers wrong commands as the real server does', async () => {
    const conference = await createConference(under);
    const { name, memberId } = conference;
    const answers: [string, string][] = [
      [`${name} list count`, '1'],
      [`${name} get rate`, String(8000 * WIDTH)],
      [`${name} get nosuch`, 'get <parameter-name>'],
      [
        `${name} set energy 200`,
        'set <max_members|sound_prefix|caller_id_name|caller_id_number|endconference_grace_time> <value>',
      ],
      [`${name} mute`, 'mute <[member_id|all]|last|non_moderator> [<quiet>]'],
      [`${name} agc on`, 'agc <member_id|all|last|non_moderator> [<newval>]'],
      [`${name} mute 999`, '-ERR Non-Existant ID 999\n'],
      [`${name} kick 0x1`, 'kick <[member_id|all|last|non_moderator]> [<optional sound file>]'],
      [`${name} nosuchcommand`, "-ERR Conference command 'nosuchcommand' not found.\n"],
      [`${name} tmute ${memberId}`, `+OK unmute ${memberId}\n`],
      [`${name} tmute ${memberId}`, `+OK mute ${memberId}\n`],
      [`${name} saymember`, '-ERR (saymember) No Text!\nsaymember <member_id> <text>'],
      [`${name} saymember 999 hi`, '-ERR (saymember) Unknown Member 999!\nsaymember <member_id> <text>'],
      [`${name} say`, '-ERR (say) Error! No text.\nsay <text>'],
      [`${name} moh`, '-ERR invalid moh param\n'],
      [`${name} enter_sound`, '-ERR Not enough args\nenter_sound on|off|none|file <filename>'],
      [`${name} exit_sound loud`, '-ERR Bad args\nexit_sound on|off|none|file <filename>'],
      [`${name} exit_sound file`, '-ERR No filename specified\n'],
      [`${name} exit_sound off`, `+OK ${name} exit sounds off ()\n`],
      [`${name} pin`, '-ERR Invalid parameters:\npin <pin#>'],
      [`${name} pin 4711`, `+OK Pin for conference ${name} set: 4711\n`],
      [`${name} nopin`, `+OK Pin for conference ${name} deleted\n`],
      [`${name} volume_in ${memberId}`, `+OK Volume IN ${memberId} = 0\n`],
      [`${name} volume_in ${memberId} down`, `+OK Volume IN ${memberId} = -1\n`],
      [`${name} volume_out all 9`, `+OK Volume OUT ${memberId} = 4\n`],
      [`${name} volume_out last loud`, `+OK Volume OUT ${memberId} = 0\n`],
      [`${name} get-uuid ${memberId}`, conference.endpoint.uuid],
      [`${name} stop all`, '+OK Stopped 0 files.\n'],
      [`${name} energy all`, `Energy ${memberId} = 100\n`],
      ['nosuch list', '-ERR Conference nosuch not found\n'],
    ];
    const said: [string, string][] = [];
    for (const [command] of answers) said.push([command, await under.media.api(`conference ${command}`)]);
    assert.deepEqual(said, answers);
  });

  engineOnly('FreeSWITCH takes some of them for names', 'is not shaken by hostile names and arguments', async () => {
    const one = await caller(under, 440);
    for (const data of ['', '   ', '@x', 'a b', 'a;b', 'x'.repeat(5000), 'a+flags{'.repeat(500), '+++', 'a@b@c'])
      assertRefused(await one.endpoint.execute('conference', data), /^-ERR no conference/);
    const name = roomName();
    await one.endpoint.join(name);
    for (const command of [
      'play',
      'transfer',
      'relate 1 2',
      'recording',
      'dtmf 1',
      'set max_members -x',
      'get __proto__',
    ])
      assert.doesNotMatch(await under.media.api(`conference ${name} ${command}`), /^\+OK/, command);
  });

  /** What a conference says that it has played: FreeSWITCH counts every sample twice. */
  function counted(figure: number): number {
    return ownServers() ? 2 * figure : figure;
  }

  /** The tones in the first 400 ms of a file, by ear. */
  async function tonesIn(file: string): Promise<number[]> {
    const listener: Party = await caller(under, 0);
    const played = listener.endpoint.play(file);
    await until(() => listener.peer.tonesOf(160).length > 0, 'a tone');
    await listener.endpoint.api('msleep', '100');
    const tones = listener.peer.tonesOf(100);
    await played;
    return tones;
  }
});

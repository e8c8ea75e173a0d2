import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { until, withEngine, type EngineUnderTest, type EslEvent } from './engine-under-test.ts';
import type { Party } from './conference-room.ts';
import { assertRefused, caller, createConference, eventsOf, hearsOnly, party, roomName } from './conference-room.ts';

describe('conferences, by ear', function () {
  this.timeout(15_000);
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  it('lets three parties each hear exactly the other two', async () => {
    const conference = await createConference(under);
    const [a, b, c] = await Promise.all([440, 700, 1000].map(hz => party(under, conference, hz)));
    assert.ok(a && b && c);
    await Promise.all([hearsOnly(a, 700, 1000), hearsOnly(b, 440, 1000), hearsOnly(c, 440, 700)]);
    assert.equal(await conference.getSize(), 4);
  });

  for (const [count, others, hz, peak] of [
    [10, 'nine', 150, 2000],
    [30, 'twenty-nine', 100, 1000],
  ] as const)
    it(`lets ${count} parties each hear the ${others} others, and not themselves`, async () => {
      const conference = await createConference(under);
      const tones = Array.from({ length: count }, (_, at) => 400 + hz * at);
      const parties = await Promise.all(tones.map(tone => party(under, conference, tone)));
      for (const { peer } of parties) peer.peak = peak; // all together are not clipped
      const heard = ({ peer }: Party): number[] => tones.filter(tone => peer.amplitude(tone, 200) > peak / 4);
      await until(
        () => parties.every((one, self) => String(heard(one)) === String(tones.filter((_, at) => at !== self))),
        'everybody to hear all others',
        12_000,
      );
      assert.equal(await conference.getSize(), count + 1);
    });

  it('needs no control leg: the first to join opens the conference, the last to leave ends it', async () => {
    const name = roomName();
    const a = await party(under, name, 440);
    const b = await party(under, name, 700);
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    await a.endpoint.unjoin();
    await hearsOnly(a);
    assert.equal(await under.media.api(`conference ${name} list count`), '1');
    await b.endpoint.destroy();
    assert.equal(await under.media.api(`conference ${name} list count`), `-ERR Conference ${name} not found\n`);
  });

  it('lets nobody hear a muted member, who hears all the same', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    assert.equal(await a.endpoint.confMute(), `+OK mute ${a.endpoint.conf.memberId}\n`);
    await Promise.all([hearsOnly(b), hearsOnly(a, 700)]);
    await a.endpoint.confUnmute();
    await hearsOnly(b, 440);
  });

  it('lets a deaf member hear nobody, whom everybody hears', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    await a.endpoint.confDeaf();
    await Promise.all([hearsOnly(a), hearsOnly(b, 440)]);
    await a.endpoint.confUndeaf();
    await hearsOnly(a, 700);
  });

  it('takes members in muted, deaf or as listeners by their flags', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 440, { flags: { mute: true } });
    const b = await party(under, conference, 700, { flags: { deaf: true } });
    await Promise.all([hearsOnly(a, 700), hearsOnly(b)]);
    const { body } = await conference.list();
    assert.match(body, new RegExp(`^${b.endpoint.conf.memberId};.*;speak\\|talking\\|floor;0;0;100$`, 'm'));
    assert.match(body, new RegExp(`^${a.endpoint.conf.memberId};.*;hear;0;0;100$`, 'm'));
  });

  it('mutes and unmutes everybody at once, the newest first', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    const ids = [b.endpoint.conf.memberId, a.endpoint.conf.memberId, conference.memberId];
    const events = eventsOf(conference);
    assert.equal(await conference.mute('all'), ids.map(id => `+OK mute ${id}\n`).join(''));
    await Promise.all([hearsOnly(a), hearsOnly(b)]);
    assert.equal(await conference.unmute('all'), ids.map(id => `+OK unmute ${id}\n`).join(''));
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    await a.endpoint.api('msleep', '500'); // time enough for what the control leg hears to come back
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    await until(() => events.of('unmute-member').length === 3, 'the events');
    assert.deepEqual(
      events.of('mute-member').map(event => [event.getHeader('Member-ID'), event.getHeader('Speak')]),
      ids.map(id => [String(id), 'false']),
    );
  });

  it('kicks a member, whose call goes on outside', async () => {
    const conference = await createConference(under);
    const [a, b] = [await party(under, conference, 440), await party(under, conference, 700)];
    await hearsOnly(b, 440);
    const left = once(conference, 'delMember');
    assert.equal(await a.endpoint.unjoin(), `+OK kicked ${a.endpoint.conf.memberId}\n`);
    const [event] = (await left) as [EslEvent];
    assert.equal(event.getHeader('Member-ID'), String(a.endpoint.conf.memberId));
    await Promise.all([hearsOnly(a), hearsOnly(b)]);
    const played = a.endpoint.play('tone_stream://%(500,0,1000)');
    await hearsOnly(a, 1000);
    await played;
    await a.endpoint.join(conference);
    await hearsOnly(b, 440);
  });

  it('lets nobody into a locked conference, and tells why', async () => {
    const conference = await createConference(under);
    const locked = once(conference, 'lock');
    assert.equal(await conference.lock(), `+OK ${conference.name} locked\n`);
    await locked;
    const late = await caller(under, 440);
    const refused = await late.endpoint.execute('conference', conference.name);
    assertRefused(refused, /^-ERR conference \w+ is locked$/);
    assert.equal(await conference.getSize(), 1);
    await conference.unlock();
    await late.endpoint.join(conference);
    assert.equal(await conference.getSize(), 2);
  });

  it('takes no more members than max_members', async () => {
    const conference = await createConference(under, roomName(), { maxMembers: 2 });
    assert.equal(await conference.get('max_members'), 2);
    await party(under, conference, 440);
    const late = await caller(under, 700);
    const refused = await late.endpoint.execute('conference', conference.name);
    assertRefused(refused, /is full$/);
    assert.equal(await conference.set('max_members', 10), '2');
    await late.endpoint.join(conference);
  });

  it('joins only what exists when asked so', async () => {
    const name = roomName();
    const [one, two] = [await caller(under, 440), await caller(under, 700)];
    await one.endpoint.set('hangup_after_conference', 'false'); // what FreeSWITCH does else
    assertRefused(await one.endpoint.execute('conference', `${name}++flags{join-only}`), /does not exist$/);
    await two.endpoint.join(name);
    await one.endpoint.join(name, { flags: { joinOnly: true } });
    await Promise.all([hearsOnly(one, 700), hearsOnly(two, 440)]);
  });

  engineOnly(
    'FreeSWITCH asks the caller for it, with sounds',
    'wants the pin that the first member brought',
    async () => {
      const name = roomName();
      const [one, two] = [await caller(under, 440), await caller(under, 700)];
      await one.endpoint.join(name, { pin: '42' });
      assertRefused(await two.endpoint.execute('conference', `${name}+41`), /another pin$/);
      await two.endpoint.join(name, { pin: '42' });
      await Promise.all([hearsOnly(one, 700), hearsOnly(two, 440)]);
    },
  );

  it('ends for everybody when a member with endconf leaves, although another one stays', async () => {
    const name = roomName();
    const [a, b] = await Promise.all([440, 700].map(hz => party(under, name, hz, { flags: { endconf: true } })));
    assert.ok(a && b);
    await hearsOnly(b, 440);
    await a.endpoint.destroy();
    await hearsOnly(b);
    assert.match(await under.media.api(`conference ${name} list`), /not found/);
    assert.ok(b.endpoint.connected);
  });

  it('ends when fewer than two are left after a member with mintwo', async () => {
    const name = roomName();
    const a = await party(under, name, 440, { flags: { mintwo: true } });
    const b = await party(under, name, 700);
    await hearsOnly(b, 440);
    await a.endpoint.unjoin();
    await until(() => b.peer.tonesOf(160).length === 0, 'silence');
    assert.match(await under.media.api(`conference ${name} list`), /not found/);
  });

  it('keeps members from hearing each other until the moderator comes', async () => {
    const name = roomName();
    const a = await party(under, name, 440, { flags: { waitMod: true } });
    const b = await party(under, name, 700);
    await Promise.all([hearsOnly(a), hearsOnly(b)]);
    const moderator = await party(under, name, 1000, { flags: { moderator: true } });
    await Promise.all([hearsOnly(a, 700, 1000), hearsOnly(moderator, 440, 700)]);
    assert.equal(
      await under.media.api(`conference ${name} mute non_moderator`),
      [
        `Skipping moderator (member id ${moderator.endpoint.conf.memberId}).\n`,
        ...[b, a].map(({ endpoint }) => `+OK mute ${endpoint.conf.memberId}\n`),
      ].join(''),
    );
    await Promise.all([hearsOnly(a, 1000), hearsOnly(moderator)]);
  });

  it('moves a member to another conference, with its number', async () => {
    const [first, second] = [await createConference(under), await createConference(under)];
    const [a, b] = [await party(under, first, 440), await party(under, first, 700)];
    const c = await party(under, second, 1000);
    const id = a.endpoint.conf.memberId;
    const states: string[] = [];
    a.endpoint.on('channelCallState', ({ state }: { state: string }) => states.push(state));
    await until(() => second.participants.has(c.endpoint.conf.memberId), 'the third party');
    const moved = Promise.all([once(first, 'transfer'), once(first, 'delMember'), once(second, 'addMember')]);
    assert.equal(await a.endpoint.transfer(second), `+OK Member '${id}' sent to conference ${second.name}.\n`);
    const [[transfer], , [added]] = (await moved) as [[EslEvent], [EslEvent], [EslEvent]];
    assert.deepEqual(
      ['Old-Conference-Name', 'New-Conference-Name'].map(name => transfer.getHeader(name)),
      [first.name, second.name],
    );
    assert.equal(added.getHeader('Member-ID'), String(id));
    await Promise.all([hearsOnly(a, 1000), hearsOnly(c, 440), hearsOnly(b)]);
    assert.deepEqual(states, ['RINGING', 'ACTIVE']);
    await assert.rejects(a.endpoint.unjoin(), /Non-Existant ID/);
  });

  engineOnly('FreeSWITCH moves it all the same', 'moves nobody to a locked conference', async () => {
    const [first, second] = [await createConference(under), await createConference(under)];
    const one = await party(under, first, 440);
    await second.lock();
    await assert.rejects(one.endpoint.transfer(second), /is locked/);
  });

  it('moves a member who is listening to a sound of its own, which ends', async () => {
    const [here, there] = [roomName(), roomName()];
    const [a, b] = [await party(under, here, 440), await party(under, there, 700)];
    const played = a.endpoint.play('tone_stream://%(9000,0,1200)');
    await hearsOnly(a, 1200);
    await a.endpoint.transfer(there);
    await played;
    await Promise.all([hearsOnly(a, 700), hearsOnly(b, 440)]);
    assert.match(await under.media.api(`conference ${here} list`), /not found/);
    await a.endpoint.destroy();
    await hearsOnly(b);
  });

  it('keeps one member from hearing another by relate, for whispering', async () => {
    const name = roomName();
    const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
    const c = await party(under, name, 1000);
    const [from, to] = [a.endpoint.conf.memberId, c.endpoint.conf.memberId];
    assert.match(await under.media.api(`conference ${name} relate ${from} ${to} nospeak`), /^\+OK/);
    await Promise.all([hearsOnly(c, 700), hearsOnly(b, 440, 1000), hearsOnly(a, 700, 1000)]);
    await under.media.api(`conference ${name} relate ${from} ${to} clear`);
    await hearsOnly(c, 440, 700);
  });

  it('relates several members to several others at once, and shows who is kept from whom', async () => {
    const name = roomName();
    const [a, b, c] = await Promise.all([440, 700, 1000].map(hz => party(under, name, hz)));
    assert.ok(a && b && c);
    const [one, two, three] = [a, b, c].map(each => each.endpoint.conf.memberId);
    const relate = (rest: string): Promise<string> => under.media.api(`conference ${name} relate ${rest}`);
    const set = `+OK ${one}->${three} nospeak set\n+OK ${two}->${three} nospeak set\n`;
    assert.equal(await relate(`${one},${two} ${three} nospeak`), set);
    await Promise.all([hearsOnly(c), hearsOnly(a, 700, 1000), hearsOnly(b, 440, 1000)]);
    assert.match(await relate(`${two}`), new RegExp(`^${two} -> ${three} NOSPEAK HEAR `));
    const cleared = `+OK relationship ${one}->${three} cleared.\n-ERR relationship 0->${three} not found.\n`;
    assert.equal(await relate(`${one},0 ${three} clear`), cleared);
    await hearsOnly(c, 440);
  });

  it('stays open for the grace time after the last mandatory member has left, and longer when one comes back', async () => {
    const name = roomName();
    const mandatory = async (hz: number): Promise<Party> => {
      const one = await caller(under, hz);
      void one.endpoint.execute('conference', `${name}+flags{mandatory_member_endconf}`); // join() spells it with hyphens
      return one;
    };
    const [a, b] = [await mandatory(440), await party(under, name, 700)];
    await hearsOnly(b, 440);
    await under.media.api(`conference ${name} set endconference_grace_time 1`);
    await a.endpoint.destroy();
    const again = await mandatory(1000);
    await hearsOnly(b, 1000);
    const left = performance.now();
    await again.endpoint.destroy();
    await until(async () => /not found/.test(await under.media.api(`conference ${name} list`)), 'the end');
    assert.ok(performance.now() - left > 700, 'the conference ended before its time');
  });

  it('tells of itself and its members as JSON', async () => {
    const name = roomName();
    const { endpoint } = await party(under, name, 440, { flags: { endconf: true, mute: true } });
    const told = JSON.parse(await under.media.api(`conference ${name} json_list compact`)) as Record<string, unknown>[];
    assert.equal(told.length, 1);
    assert.deepEqual([told[0]?.['conference_name'], told[0]?.['member_count']], [name, 1]);
    const [member] = told[0]?.['members'] as { id: number; uuid: string; flags: Record<string, boolean> }[];
    assert.deepEqual([member?.id, member?.uuid], [endpoint.conf.memberId, endpoint.uuid]);
    const { can_hear, can_speak, end_conference } = member?.flags ?? {};
    assert.deepEqual(
      { can_hear, can_speak, end_conference },
      { can_hear: true, can_speak: false, end_conference: true },
    );
  });

  it('plays over the conference to one member in a nested playback, who is heard meanwhile', async () => {
    const name = roomName();
    const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
    const played = a.endpoint.play('tone_stream://%(600,0,1200)');
    await Promise.all([hearsOnly(a, 1200), hearsOnly(b, 440)]);
    await played;
    await hearsOnly(a, 700);
    await a.endpoint.api('uuid_break', `${a.endpoint.uuid} all`);
    await hearsOnly(a, 700);
  });

  it('lets a member go who is bridged with somebody outside', async () => {
    const name = roomName();
    const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
    const outside = await caller(under, 1000);
    await a.endpoint.bridge(outside.endpoint);
    await Promise.all([hearsOnly(a, 1000), hearsOnly(outside, 440), hearsOnly(b)]);
    assert.equal(await under.media.api(`conference ${name} list count`), '1');
  });

  it('lets a member go whose channel is parked, and keeps one who only has a break', async () => {
    const name = roomName();
    const [a, b] = [await party(under, name, 440), await party(under, name, 700)];
    await under.media.api(`uuid_break ${a.endpoint.uuid} all`);
    await under.media.api(`uuid_park ${b.endpoint.uuid}`);
    await Promise.all([hearsOnly(a), hearsOnly(b)]);
    assert.match(
      await under.media.api(`conference ${name} list`),
      new RegExp(`^${a.endpoint.conf.memberId};[^\\n]*\n$`),
    );
  });

  it('passes the keys of a member with dist-dtmf to the others, and sends keys by command', async () => {
    const name = roomName();
    const a = await party(under, name, 0, { flags: { distDtmf: true } });
    const b = await party(under, name, 0);
    await a.peer.press('7');
    await until(() => b.peer.events.size === 1, 'the key');
    const id = b.endpoint.conf.memberId;
    assert.equal(await under.media.api(`conference ${name} dtmf ${id} 12`), `+OK sent 12 to ${id}\n`);
    await until(() => b.peer.events.size === 3, 'the keys');
    assert.deepEqual([...b.peer.events.values()], [7, 1, 2]);
    assert.equal(a.peer.events.size, 0);
  });

  it('is destroyed with its control leg, which settles, and leaves nothing behind', async () => {
    const conference = await createConference(under);
    const a = await party(under, conference, 440);
    const events = eventsOf(conference);
    await under.release(conference.endpoint);
    await until(async () => /not found/.test(await under.media.api(`conference ${conference.name} list`)), 'the end');
    if (!ownServers()) {
      // FreeSWITCH tells it after the connection of the control leg is gone.
      await until(() => events.actions.includes('conference-destroy'), 'the event');
      // Where the tone was not taken for talking yet, the floor is the control leg's and changes as that leaves.
      const ends = events.actions.filter(action => action !== 'floor-change').slice(-3);
      assert.deepEqual(ends, ['del-member', 'del-member', 'conference-destroy']);
      assert.deepEqual(conference.participants.size, 0);
    }
    assert.ok(a.endpoint.connected);
    await a.endpoint.destroy();
    await under.comesToChannels(0);
    if (!ownServers()) assert.equal((await under.engine.stats()).rtp_ports, 0);
  });

  it('goes when all its members hang up at once', async () => {
    const name = roomName();
    const parties = await Promise.all([440, 700, 1000].map(hz => party(under, name, hz)));
    await Promise.all(parties.map(({ endpoint }) => endpoint.destroy()));
    assert.match(await under.media.api(`conference ${name} list count`), /not found/);
  });
});

import { strict as assert } from 'node:assert';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import type { Stack } from '../support/stack.ts';
import { HZ, withTransfers, type Transfers } from '../support/transfers.ts';

const EMPTY = '00000000-0000-0000-0000-000000000000';
const RINGBACK = 425;
/** The held low note of the first bar of the music on hold. */
const MUSIC_HZ = 262;

describe('a conversation is transferred over HTTP (voice-and-flows 19)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;
  let transfers: Transfers;

  withTransfers((...opened) => {
    [transfers, office] = opened;
    stack = office.stack;
  });

  /** The row of a transfer, once it says how the transfer ended. */
  const stored = async (id: string, status: string): Promise<Record<string, unknown>> => {
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    const look = async () =>
      (await client.query<{ data: Record<string, unknown> }>('select data from transfers where id = $1', [id])).rows[0]
        ?.data ?? {};
    return eventually(`a ${status} transfer`, look, data => data['status'] === status).finally(() => client.end());
  };

  for (const who of ['caller', 'callee'] as const) {
    it(`blind by the ${who}: it is hung up at once, the other hears ringback, then the new party`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      const talk = await transfers.talk(alice, bob);
      const made = await transfers.begin('blind', talk.records[who], carol);
      assert.deepEqual(
        [made.type, made.transferer_call_id, made.transferee_call_id, made.tm_update.slice(0, 4)],
        ['blind', talk.records[who].id, EMPTY, '9999'],
      );
      assert.equal(made.transferee_addresses[0]?.target, carol.name);
      const stays = who === 'caller' ? talk.callee : talk.caller;
      const hz = who === 'caller' ? HZ.bob : HZ.alice;
      assert.equal((await talk[who].ended()).by, 'them');
      const incoming = await carol.waitForCall();
      await stays.hearsOnly([RINGBACK]);
      incoming.answer();
      await Promise.all([stays.hearsOnly([HZ.carol]), incoming.hearsOnly([hz])]);
      const row = await stored(made.id, 'completed');
      const leg = await office.call(String(row['transferee_call_id']));
      assert.deepEqual([leg.status, leg.destination.target], ['progressing', carol.name]);
      assert.equal(leg.source.target, talk.records[who].source.target);
      const [ended, other] = [talk.records[who], talk.records[who === 'caller' ? 'callee' : 'caller']];
      assert.deepEqual(await verdictOf(ended.id), ['local', 'normal']);
      assert.equal((await office.call(other.id)).status, 'progressing');
      assert.equal((await office.call(other.id)).master_call_id, EMPTY);
      await (who === 'caller' ? stays : incoming).hangup(); // once the one, once the other takes both along
      await Promise.all([stays.ended(), incoming.ended()]);
    });
  }

  const verdictOf = async (id: string) => {
    const { hangup_by, hangup_reason } = await office.ended(id);
    return [hangup_by, hangup_reason];
  };

  it('blind to somebody who is busy ends the bridge: everybody has left', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    carol.incoming = { refuse: 486 };
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('blind', talk.records.caller, carol);
    await Promise.all([talk.caller.ended(), talk.callee.ended()]);
    assert.equal((await stored(made.id, 'failed'))['transferee_call_id'], EMPTY);
  });

  it('blind to somebody who does not answer ends the bridge when the dial timer runs out', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    await transfers.begin('blind', talk.records.callee, carol);
    const incoming = await carol.waitForCall();
    await talk.caller.hearsOnly([RINGBACK]);
    await Promise.all([incoming.ended(), talk.caller.ended(), talk.callee.ended()]);
  });

  it('blind: the party that waits hangs up, and the phone stops ringing', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('blind', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    await talk.callee.hearsOnly([RINGBACK]);
    await talk.callee.hangup();
    await incoming.ended();
    await stored(made.id, 'failed');
  });

  for (const who of ['caller', 'callee'] as const) {
    it(`attended by the ${who}: music for the one, a word with the new party, then the two are left together`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      const talk = await transfers.talk(alice, bob);
      const [own, stays] = who === 'caller' ? [talk.caller, talk.callee] : [talk.callee, talk.caller];
      const [ownHz, staysHz] = who === 'caller' ? [HZ.alice, HZ.bob] : [HZ.bob, HZ.alice];
      const made = await transfers.begin('attended', talk.records[who], carol);
      const incoming = await carol.waitForCall();
      await Promise.all([own.hearsOnly([RINGBACK]), stays.hasHeard(MUSIC_HZ)]);
      const other = who === 'caller' ? talk.records.callee : talk.records.caller;
      assert.equal((await office.call(other.id)).mute_direction, 'in');
      incoming.answer();
      await Promise.all([own.hearsOnly([HZ.carol]), incoming.hearsOnly([ownHz])]);
      assert(!stays.heardTones().some(hz => [ownHz, HZ.carol].some(party => Math.abs(party - hz) < 4)));
      await own.hangup();
      await Promise.all([stays.hearsOnly([HZ.carol]), incoming.hearsOnly([staysHz])]);
      const row = await stored(made.id, 'completed');
      assert.notEqual(row['transferee_call_id'], EMPTY);
      assert.equal((await office.call(other.id)).mute_direction, '');
      await incoming.hangup();
      await stays.ended();
    });
  }

  for (const [title, refuse] of [
    ['is busy', 486],
    ['does not answer', undefined],
  ] as const) {
    it(`attended to somebody who ${title}: the two talk again`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      if (refuse) carol.incoming = { refuse };
      const talk = await transfers.talk(alice, bob);
      const made = await transfers.begin('attended', talk.records.caller, carol);
      if (!refuse) await talk.callee.hasHeard(MUSIC_HZ);
      await stored(made.id, 'failed');
      await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
      assert.deepEqual((await office.call(talk.records.caller.id)).chained_call_ids, [talk.records.callee.id]);
      await talk.caller.hangup();
      await talk.callee.ended();
    });
  }

  it('attended: the new party hangs up during the consultation, and the two talk again', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    await transfers.begin('attended', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    incoming.answer();
    await talk.caller.hearsOnly([HZ.carol]);
    await incoming.hangup();
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    const again = await office.call(talk.records.caller.id);
    assert.deepEqual(again.chained_call_ids, [talk.records.callee.id]);
    assert.equal((await office.call(talk.records.callee.id)).master_call_id, again.id);
    await talk.caller.hangup();
    await talk.callee.ended();
  });

  it('attended: the transferer hangs up while it rings, and everybody has left', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('attended', talk.records.callee, carol);
    const incoming = await carol.waitForCall();
    await talk.callee.hangup();
    await Promise.all([incoming.ended(), talk.caller.ended()]);
    await stored(made.id, 'failed');
  });

  it('attended: the party that waits hangs up while it rings, and everybody has left', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    await transfers.begin('attended', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    await talk.callee.hangup();
    await Promise.all([incoming.ended(), talk.caller.ended()]);
  });

  it('attended: the party that waits hangs up during the consultation, and the others talk on', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('attended', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    incoming.answer();
    await talk.caller.hearsOnly([HZ.carol]);
    await talk.callee.hangup();
    await stored(made.id, 'failed');
    await Promise.all([talk.caller.hearsOnly([HZ.carol]), incoming.hearsOnly([HZ.alice])]);
    await talk.caller.hangup();
    await incoming.ended();
  });

  it('a conversation is transferred once at a time, and again after that', async () => {
    const { alice, bob, carol, dave } = await transfers.phones('alice', 'bob', 'carol', 'dave');
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('attended', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    for (const record of [talk.records.caller, talk.records.callee]) {
      const { status, body } = await transfers.order('blind', record, dave);
      assert.deepEqual([status, body.error?.reason], [409, 'CALL_STATE_INVALID']);
    }
    incoming.answer();
    await talk.caller.hearsOnly([HZ.carol]);
    await talk.caller.hangup();
    const row = await stored(made.id, 'completed');
    await transfers.begin('blind', await office.call(String(row['transferee_call_id'])), dave);
    const second = await dave.waitForCall();
    second.answer();
    await Promise.all([talk.callee.hearsOnly([HZ.dave]), second.hearsOnly([HZ.bob]), incoming.ended()]);
    await second.hangup();
    await talk.callee.ended();
  });

  it('what cannot be dialled is refused, and the two talk on as if nothing had been asked', async () => {
    const { alice, bob } = await transfers.phones('alice', 'bob');
    const talk = await transfers.talk(alice, bob);
    for (const type of ['blind', 'attended'] as const) {
      const { status, body } = await transfers.order(type, talk.records.caller, { type: 'extension', target: '1999' });
      assert.deepEqual([status, body.error?.reason], [400, 'INVALID_ARGUMENT']);
    }
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    await talk.caller.hangup();
    await talk.callee.ended();
  });

  it('the first of several addresses to answer is the new party, and the others stop ringing', async () => {
    const { alice, bob, carol, dave } = await transfers.phones('alice', 'bob', 'carol', 'dave');
    const talk = await transfers.talk(alice, bob);
    await transfers.begin('blind', talk.records.caller, carol, dave);
    const [first, second] = await Promise.all([carol.waitForCall(), dave.waitForCall()]);
    second.answer();
    assert.equal((await first.ended()).by, 'them');
    await Promise.all([talk.callee.hearsOnly([HZ.dave]), second.hearsOnly([HZ.bob])]);
    await talk.callee.hangup();
    await second.ended();
  });

  it('out of a conference: the others hear ringback, then the new party, and the room stands', async () => {
    const { alice, bob, carol, dave } = await transfers.phones('alice', 'bob', 'carol', 'dave');
    const room = (await stack.api<{ id: string }>('POST', '/conferences', { type: 'conference' })).body;
    const [one, two, three] = await Promise.all([alice, bob, carol].map(phone => phone.dial(`conference:${room.id}`)));
    assert(one && two && three);
    await Promise.all([one.hearsOnly([HZ.bob, HZ.carol]), two.hearsOnly([HZ.alice, HZ.carol])]);
    const mine = (await office.calls(3)).find(call => call.source.target === alice.name);
    assert(mine);
    const made = await transfers.begin('blind', mine, dave);
    await one.ended();
    const incoming = await dave.waitForCall();
    await Promise.all([two.hearsOnly([RINGBACK]), three.hearsOnly([RINGBACK])]);
    incoming.answer();
    await Promise.all([two.hearsOnly([HZ.carol, HZ.dave]), incoming.hearsOnly([HZ.bob, HZ.carol])]);
    await stored(made.id, 'completed');
    await Promise.all([two.hangup(), three.hangup(), incoming.hangup()]);
    assert.equal((await stack.api<{ status: string }>('GET', `/conferences/${room.id}`)).body.status, 'progressing');
    await stack.api('DELETE', `/conferences/${room.id}`);
  });

  it('attended out of a conference: music for all others, a word with the new party, who then takes the place', async () => {
    const { alice, bob, carol, dave } = await transfers.phones('alice', 'bob', 'carol', 'dave');
    const room = (await stack.api<{ id: string }>('POST', '/conferences', { type: 'conference' })).body;
    const [one, two, three] = await Promise.all([alice, bob, carol].map(phone => phone.dial(`conference:${room.id}`)));
    assert(one && two && three);
    await one.hearsOnly([HZ.bob, HZ.carol]);
    const mine = (await office.calls(3)).find(call => call.source.target === alice.name);
    assert(mine);
    const made = await transfers.begin('attended', mine, dave);
    const incoming = await dave.waitForCall();
    await Promise.all([one.hearsOnly([RINGBACK]), two.hasHeard(MUSIC_HZ), three.hasHeard(MUSIC_HZ)]);
    incoming.answer();
    await Promise.all([one.hearsOnly([HZ.dave]), incoming.hearsOnly([HZ.alice])]);
    await one.hangup();
    await Promise.all([two.hearsOnly([HZ.carol, HZ.dave]), incoming.hearsOnly([HZ.bob, HZ.carol])]);
    await stored(made.id, 'completed');
    await Promise.all([two.hangup(), three.hangup(), incoming.hangup()]);
    assert.equal((await stack.api<{ status: string }>('GET', `/conferences/${room.id}`)).body.status, 'progressing');
    await stack.api('DELETE', `/conferences/${room.id}`);
  });

  /** Alice and Bob in a conference of type connect, with the record of hers, and Carol outside. */
  const inConnect = async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const room = (await stack.api<{ id: string }>('POST', '/conferences', { type: 'connect' })).body;
    const status = async () => (await stack.api<{ status: string }>('GET', `/conferences/${room.id}`)).body.status;
    const [one, two] = await Promise.all([alice, bob].map(phone => phone.dial(`conference:${room.id}`)));
    assert(one && two);
    await Promise.all([one.hearsOnly([HZ.bob]), two.hearsOnly([HZ.alice])]);
    const mine = (await office.calls(2)).find(call => call.source.target === alice.name);
    assert(mine);
    return { one, two, mine, carol, status };
  };

  it('out of a conference of type connect: it stands until the new party is there, and ends with the two', async () => {
    const { one, two, mine, carol, status } = await inConnect();
    const made = await transfers.begin('blind', mine, carol);
    await one.ended();
    const incoming = await carol.waitForCall();
    await two.hearsOnly([RINGBACK]);
    assert.equal(await status(), 'progressing');
    incoming.answer();
    await Promise.all([two.hearsOnly([HZ.carol]), incoming.hearsOnly([HZ.bob])]);
    await stored(made.id, 'completed');
    await two.hangup();
    await incoming.ended();
    await eventually('its end', status, now => now === 'terminated');
  });

  it('attended out of a conference of type connect: a word with the new party, who takes the place, and it ends with the two', async () => {
    const { one, two, mine, carol, status } = await inConnect();
    const made = await transfers.begin('attended', mine, carol);
    const incoming = await carol.waitForCall();
    await Promise.all([one.hearsOnly([RINGBACK]), two.hasHeard(MUSIC_HZ)]);
    incoming.answer();
    await Promise.all([one.hearsOnly([HZ.carol]), incoming.hearsOnly([HZ.alice])]);
    await one.hangup();
    await Promise.all([two.hearsOnly([HZ.carol]), incoming.hearsOnly([HZ.bob])]);
    await stored(made.id, 'completed');
    assert.equal(await status(), 'progressing');
    await two.hangup();
    await incoming.ended();
    await eventually('its end', status, now => now === 'terminated');
  });

  it('a call that plays to nobody else is in no conversation', async () => {
    const { alice } = await transfers.phones('alice');
    const call = await office.ring('1001', [{ type: 'sleep', option: { duration: 20_000 } }]);
    const incoming = await alice.waitForCall();
    assert.equal((await transfers.order('blind', call, alice)).body.error?.reason, 'CALL_STATE_INVALID');
    incoming.answer();
    await office.progressing(call.id);
    assert.equal((await transfers.order('blind', call, alice)).body.error?.reason, 'CALL_STATE_INVALID');
    await incoming.hangup();
    await office.ended(call.id);
    assert.equal((await transfers.order('blind', call, alice)).body.error?.reason, 'CALL_STATE_INVALID');
  });
});

import { strict as assert } from 'node:assert';
import { header } from '../../scripts/phone/sip-message.ts';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { TestPhone } from '../support/phone.ts';
import type { Stack } from '../support/stack.ts';
import {
  dialogOf,
  HZ,
  newsOf,
  newsOver,
  refer,
  replacesOf,
  withTransfers,
  type Transfers,
} from '../support/transfers.ts';

const RINGBACK = 425;

describe('a phone transfers by REFER (RFC 3515, 5589) and Replaces (RFC 3891)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;
  let transfers: Transfers;
  let domain: string;

  withTransfers((...opened) => {
    [transfers, office] = opened;
    stack = office.stack;
    domain = stack.welcome.extensions[0]?.domain_name ?? '';
  });

  for (const who of ['caller', 'callee'] as const) {
    it(`blind by the ${who}: 202, told of the ringing and the answer, then taken out of the call`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      const talk = await transfers.talk(alice, bob);
      const [own, stays] = who === 'caller' ? [talk.caller, talk.callee] : [talk.callee, talk.caller];
      const [phone, hz] = who === 'caller' ? [alice, HZ.bob] : [bob, HZ.alice];
      // One knows us by our domain, the other by our address.
      const host = who === 'caller' ? domain : `${stack.sip.host}:${stack.sip.port}`;
      const answer = await refer(own, `<sip:${carol.name}@${host}>`);
      assert.equal(answer.status, 202);
      const incoming = await carol.waitForCall();
      await stays.hearsOnly([RINGBACK]);
      incoming.answer();
      await Promise.all([stays.hearsOnly([HZ.carol]), incoming.hearsOnly([hz])]);
      assert.deepEqual(await newsOver(phone), ['100 Trying', '180 Ringing', '200 OK, over']);
      assert.equal((await own.ended()).by, 'them');
      const [notify] = phone.messages('NOTIFY', 'received');
      assert(notify);
      assert.match(header(notify.message, 'event') ?? '', /^refer;id=\d+$/);
      assert.match(header(notify.message, 'content-type') ?? '', /^message\/sipfrag/);
      await stays.hangup();
      await incoming.ended();
    });
  }

  it('blind to somebody who is busy: told 486, and the transferer has its call back', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    carol.incoming = { refuse: 486 };
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.caller, `<sip:${carol.name}@${domain}>`)).status, 202);
    assert.equal((await newsOver(alice)).at(-1), '486 Busy Here, over');
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    assert.deepEqual((await office.call(talk.records.caller.id)).chained_call_ids, [talk.records.callee.id]);
    await talk.caller.hangup();
    await talk.callee.ended();
  });

  it('blind to somebody who does not answer: told so, and the transferer has its call back', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.callee, `<sip:${carol.name}@${domain}>`)).status, 202);
    const incoming = await carol.waitForCall();
    await incoming.ended();
    assert.deepEqual(await newsOver(bob), ['100 Trying', '180 Ringing', '408 Request Timeout, over']);
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    await talk.caller.hangup();
    await talk.callee.ended();
  });

  it('blind by a phone that hangs up as soon as it rings: the other two are connected all the same', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.caller, `<sip:${carol.name}@${domain}>`)).status, 202);
    const incoming = await carol.waitForCall();
    await talk.caller.hangup();
    await talk.callee.hearsOnly([RINGBACK]);
    incoming.answer();
    await Promise.all([talk.callee.hearsOnly([HZ.carol]), incoming.hearsOnly([HZ.bob])]);
    await incoming.hangup();
    await talk.callee.ended();
  });

  it('blind: the party that waits hangs up, and the new one and the transferer are released', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.caller, `<sip:${carol.name}@${domain}>`)).status, 202);
    const incoming = await carol.waitForCall();
    await talk.callee.hangup();
    await Promise.all([incoming.ended(), talk.caller.ended()]);
  });

  it('a phone that wants no news (Refer-Sub: false) gets none', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const answer = await refer(talk.caller, `<sip:${carol.name}@${domain}>`, [{ name: 'refer-sub', value: 'false' }]);
    assert.deepEqual([answer.status, header(answer, 'refer-sub')], [202, 'false']);
    const incoming = await carol.waitForCall();
    incoming.answer();
    await talk.callee.hearsOnly([HZ.carol]);
    await talk.caller.ended();
    assert.deepEqual(newsOf(alice), []);
    await incoming.hangup();
    await talk.callee.ended();
  });

  for (const [first, second] of [
    ['called', 'called'],
    ['called', 'was called by'],
    ['was called by', 'called'],
    ['was called by', 'was called by'],
  ] as const) {
    it(`attended: who ${first} one and ${second} the other joins the two and is out`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      const one = first === 'called' ? await transfers.talk(alice, bob) : await transfers.talk(bob, alice);
      const two = second === 'called' ? await transfers.talk(alice, carol) : await transfers.talk(carol, alice);
      const [own, stays] = first === 'called' ? [one.caller, one.callee] : [one.callee, one.caller];
      const [other, target] = second === 'called' ? [two.caller, two.callee] : [two.callee, two.caller];
      const replaces = encodeURIComponent(replacesOf(other));
      assert.equal((await refer(own, `<sip:${carol.name}@${domain}?Replaces=${replaces}>`)).status, 202);
      await Promise.all([stays.hearsOnly([HZ.carol]), target.hearsOnly([HZ.bob])]);
      await Promise.all([own.ended(), other.ended()]);
      assert.deepEqual(await newsOver(alice), ['100 Trying', '200 OK, over']);
      await (first === 'called' ? stays : target).hangup();
      await Promise.all([stays.ended(), target.ended()]);
    });
  }

  it('what cannot be transferred is refused, and the two talk on', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const second = await transfers.talk(carol, await office.registered('1004', { tone: HZ.dave }));
    const { call_id, to_tag, from_tag } = dialogOf(second.caller);
    const unknown = encodeURIComponent(`${call_id};to-tag=${from_tag};from-tag=${to_tag}`);
    const own = encodeURIComponent(replacesOf(talk.caller));
    for (const [to, status] of [
      ['<tel:+15550100>', 400],
      ['<sip:1003@office>, <sip:1004@office>', 400],
      [`<sip:1003@${domain};method=MESSAGE>`, 400],
      [`<sip:1003@${domain}?Replaces=nonsense>`, 400],
      [`<sip:1999@${domain}>`, 404],
      ['<sip:1003@elsewhere.example>', 404],
      ['<sip:1003@127.0.0.1:9>', 404],
      [`<sip:+15550100@${domain}>`, 403], // numbers need a verified identity
      [`<sip:1003@${domain}?Replaces=${unknown}>`, 481],
      [`<sip:1003@${domain}?Replaces=${own}>`, 481],
    ] as const)
      assert.equal((await refer(talk.caller, to)).status, status, to);
    assert.deepEqual(newsOf(alice), []);
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    await Promise.all([talk.caller.hangup(), second.caller.hangup()]);
    await Promise.all([talk.callee.ended(), second.callee.ended()]);
  });

  it('a second REFER while the first is under way is refused, and a call without conversation too', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.caller, `<sip:${carol.name}@${domain}>`)).status, 202);
    assert.equal((await refer(talk.caller, `<sip:${carol.name}@${domain}>`)).status, 403);
    assert.equal((await refer(talk.callee, `<sip:${carol.name}@${domain}>`)).status, 403);
    await talk.callee.hangup();
    await Promise.all([talk.caller.ended(), (await carol.waitForCall()).ended()]);
    await office.ring('1001', [{ type: 'sleep', option: { duration: 20_000 } }]);
    const alone = await alice.waitForCall({ autoAnswer: true });
    await alone.answered();
    assert.equal((await refer(alone, `<sip:${carol.name}@${domain}>`)).status, 403);
    await alone.hangup();
  });

  it('a stranger at the other end of a call may not transfer it', async () => {
    const { alice, bob } = await transfers.phones('alice', 'bob');
    const stranger = await TestPhone.start({ username: 'stranger', tone: 700, incoming: { autoAnswer: true } });
    const destination = { type: 'sip', target: stranger.address };
    const source = { type: 'tel', target: '+899111222333' };
    await office.ring('1001', [{ type: 'connect', option: { source, destinations: [destination] } }]);
    const caller = await alice.waitForCall({ autoAnswer: true });
    const far = await stranger.waitForCall();
    await far.hearsOnly([HZ.alice]);
    assert.equal((await refer(far, `<sip:${bob.name}@${domain}>`)).status, 403);
    await caller.hangup();
    await far.ended();
    await stranger.stop();
  });

  for (const who of ['caller', 'callee'] as const) {
    it(`an INVITE with Replaces takes the place of the ${who}, who is hung up`, async () => {
      const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
      const talk = await transfers.talk(alice, bob);
      const [gone, stays] = who === 'caller' ? [talk.caller, talk.callee] : [talk.callee, talk.caller];
      const hz = who === 'caller' ? HZ.bob : HZ.alice;
      const taken = await carol.dial('1001', [{ name: 'replaces', value: replacesOf(gone) }]);
      await taken.answered();
      await Promise.all([taken.hearsOnly([hz]), stays.hearsOnly([HZ.carol])]);
      assert.equal((await gone.ended()).by, 'them');
      await (who === 'caller' ? taken : stays).hangup();
      await Promise.all([taken.ended(), stays.ended()]);
    });
  }

  it('an INVITE with Replaces picks up a phone that rings: that one stops, and the caller talks to whoever picked up', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const caller = await alice.dial(bob.name);
    const ringing = await bob.waitForCall();
    const taken = await carol.dial('1002', [{ name: 'replaces', value: `${replacesOf(ringing)};early-only` }]);
    await Promise.all([taken.answered(), caller.answered()]);
    const stopped = await ringing.ended();
    assert.equal(stopped.by, 'them');
    const [cancel] = bob.messages('CANCEL', 'received');
    assert.match(cancel?.message.headers.map(({ value }) => value).join() ?? '', /Call completed elsewhere/);
    await Promise.all([taken.hearsOnly([HZ.alice]), caller.hearsOnly([HZ.carol])]);
    const again = await (await bob.dial('1001', [{ name: 'replaces', value: replacesOf(ringing) }])).ended();
    assert.deepEqual([again.by, again.status], ['refused', 481], 'it rings no more');
    await caller.hangup();
    await taken.ended();
  });

  it('a phone that is answered in the moment another picks its call up: one of the two has it, the other ends', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    for (let round = 0; round < 4; round += 1) {
      const caller = await alice.dial(bob.name);
      const ringing = await bob.waitForCall();
      const picking = carol.dial('1002', [{ name: 'replaces', value: replacesOf(ringing) }]);
      await new Promise(resolve => setTimeout(resolve, round * 4));
      if (ringing.state === 'ringing') ringing.answer();
      const taken = await picking;
      await caller.answered();
      const left = await eventually(
        'one who has the call',
        () => [ringing, taken].filter(call => call.state !== 'ended'),
        calls => calls.length === 1,
      );
      await caller.hearsOnly([left[0] === taken ? HZ.carol : HZ.bob]);
      await caller.hangup();
      await left[0]?.ended();
    }
  });

  it('a REFER to a virtual number runs its flow for the party that is handed on', async () => {
    const { alice, bob } = await transfers.phones('alice', 'bob');
    const flow = await stack.api<{ id: string }>('POST', '/flows', {
      name: 'announcement',
      actions: [{ type: 'answer' }, { type: 'play', option: { stream_urls: ['tone_stream://%(60000,0,1900)'] } }],
    });
    const { welcome } = stack;
    const number = (
      await stack.api<{ result: { id: string; call_flow_id: string }[] }>(
        'GET',
        `/numbers?number=${encodeURIComponent(welcome.number)}`,
      )
    ).body.result[0];
    assert(number);
    const change = { call_flow_id: flow.body.id };
    assert.equal((await stack.api('PUT', `/numbers/${number.id}`, change)).status, 200);
    const talk = await transfers.talk(alice, bob);
    assert.equal((await refer(talk.caller, `<sip:${welcome.number}@${domain}>`)).status, 202);
    await talk.callee.hearsOnly([1900]);
    await talk.caller.ended();
    assert.equal((await newsOver(alice)).at(-1), '200 OK, over');
    await talk.callee.hangup();
    await stack.api('PUT', `/numbers/${number.id}`, { call_flow_id: number.call_flow_id });
  });

  it('an INVITE with Replaces that names nothing to take is refused', async () => {
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const replaces = replacesOf(talk.caller);
    for (const [value, status] of [
      ['nonsense', 400],
      ['a@b;to-tag=1;from-tag=2', 481],
      [`${replaces};early-only`, 486],
    ] as const) {
      const end = await (await carol.dial('1001', [{ name: 'replaces', value }])).ended();
      assert.deepEqual([end.by, end.status], ['refused', status], value);
    }
    await Promise.all([talk.caller.hearsOnly([HZ.bob]), talk.callee.hearsOnly([HZ.alice])]);
    await talk.caller.hangup();
    await talk.callee.ended();
  });
});

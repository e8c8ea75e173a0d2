import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Conference } from '#contract/conference';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import type { TestPhone } from '../support/phone.ts';
import { addExtensions, HZ, newsOver, refer, replacesOf } from '../support/transfers.ts';
import { startTwoNodes, type TestNode, type TwoNodes } from '../support/two-nodes.ts';

const sleep = [{ type: 'sleep', option: { duration: 120_000 } }];

/** What is heard of the phone of each extension. */
const TONES: Record<string, number> = { 1001: HZ.alice, 1002: HZ.bob, 1003: HZ.carol, 1004: HZ.dave };

/** A call by API and its phone's side. */
interface Pair {
  id: string;
  phone: PhoneCall;
}

describe('two nodes, each a machine with a SIP server, a media server and a media-app', function () {
  this.timeout(60_000);
  let stack: TwoNodes;
  let office: Office;

  before(async () => {
    stack = await startTwoNodes({ CONFERENCE_CHECK_MS: '500' });
    await addExtensions(stack);
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(() => office.close());
  after(() => stack.stop());

  /** A phone that is registered at one node, with its own tone. */
  const phoneAt = (node: TestNode, extension: string, tone: number): Promise<TestPhone> =>
    office.registered(extension, { server: node.sip, host: stack.here, tone, incoming: { autoAnswer: true } });

  /** Of calls that are placed by the API one after the other, the first that the condition holds for; the others are hung up. */
  const until = async (
    phone: TestPhone,
    extension: string,
    actions: unknown[],
    suits: (call: Call) => Promise<boolean> | boolean,
  ): Promise<Pair> => {
    for (let tries = 0; tries < 20; tries += 1) {
      const call = await office.ring(extension, actions);
      const pair = { id: call.id, phone: await phone.waitForCall() };
      await pair.phone.answered();
      await office.progressing(call.id);
      if (await suits(call)) return pair;
      await pair.phone.hangup();
      await office.ended(call.id);
    }
    return assert.fail('no call was placed so');
  };

  const heldBy = async (call: Call, node: TestNode): Promise<boolean> => (await office.nodeOf(call.id)) === node.id();

  /** Whether the media of the phone's latest call is at a node: by what the INVITE describes. */
  const mediaAt = (phone: TestPhone, node: TestNode): boolean =>
    phone.messages('INVITE', 'received').at(-1)?.message.body.includes(`c=IN IP4 ${node.sip.host}\r\n`) ?? false;

  /** Two who hear each other, once it is this node that took the call. */
  const talk = async (from: TestPhone, to: TestPhone, node: TestNode): Promise<{ from: PhoneCall; to: PhoneCall }> => {
    for (let tries = 0; tries < 6; tries += 1) {
      const pair = { from: await from.dial(to.name), to: await to.waitForCall() };
      await Promise.all([pair.from.hears(TONES[to.name] ?? 0), pair.to.hears(TONES[from.name] ?? 0)]);
      const [leg] = await office.calls(1);
      if (leg && (await heldBy(leg, node))) return pair;
      await pair.from.hangup();
      await pair.to.ended();
      await (await from.dial('sip:nobody@elsewhere.example')).ended(); // servers give their work out in turn
    }
    return assert.fail('no call went through that node');
  };
  const people = () => {
    const [one, two] = stack.nodes;
    return Promise.all([
      phoneAt(one, '1001', HZ.alice),
      phoneAt(two, '1002', HZ.bob),
      phoneAt(one, '1003', HZ.carol),
      phoneAt(two, '1004', HZ.dave),
    ]);
  };
  /** How many calls went from one node into a conversation of the other. */
  const crossed = () => stack.logs().filter(line => line.includes('a call of another node comes into')).length;

  /** How a call ended, once it has: its record, and the cause that its timeline names. */
  const truth = async (id: string): Promise<unknown[]> => {
    const { hangup_by, hangup_reason } = await office.ended(id, 10_000);
    const entries = await eventually(
      'the summary of a call',
      async () =>
        (
          await stack.api<{ result: { event_type: string; data: { cause?: string } }[] }>(
            'GET',
            `/timelines/calls/${id}/events?page_size=100`,
          )
        ).body.result,
      list => list.some(entry => entry.event_type === 'call_summary'),
    );
    return [hangup_by, hangup_reason, entries.find(entry => entry.event_type === 'call_summary')?.data.cause];
  };

  /** A connection that breaks, by the table of voice-and-flows 8.4; and a call whose media-app died. */
  const BROKE = ['remote', 'normal', 'failure'];
  const DIED = ['local', 'failed', 'node_died'];

  it('a phone registered at one is rung by a call commanded at the other, and hears it', async () => {
    const [one, two] = stack.nodes;
    const a = await phoneAt(one, '1001', 500);
    const play = { type: 'play', option: { stream_urls: ['tone_stream://%(3000,0,1500)'] } };
    const { id, phone } = await until(a, '1001', [play], call => heldBy(call, two));
    await phone.hears(1500);
    await phone.hangup();
    assert.equal((await office.ended(id)).hangup_reason, 'normal');
    await office.nothingLeft();
  });

  it('an unanswered caller at one is joined with a phone at the other', async () => {
    const [one, two] = stack.nodes;
    const [a, b] = await Promise.all([phoneAt(one, '1001', 500), phoneAt(two, '1002', 900)]);
    const dialled = await a.dial('1002');
    const rung = await b.waitForCall();
    await Promise.all([dialled.hearsOnly([900]), rung.hearsOnly([500])]);
    await rung.hangup();
    await dialled.ended();
  });

  it('a conference hears everybody, whichever node took the call and whichever media server it is on', async () => {
    const [one, two] = stack.nodes;
    const { body: room } = await stack.api<Conference>('POST', '/conferences', { type: 'conference' });
    const join = [{ type: 'conference_join', option: { conference_id: room.id } }];
    const [a, b, c] = await Promise.all([
      phoneAt(one, '1001', 500),
      phoneAt(two, '1002', 900),
      office.phone('1001', { server: two.sip, host: stack.here, tone: 1300 }),
    ]);
    const dialled = await c.dial(`sip:${room.id}@conference.trunkline.localhost`);
    const first = await until(a, '1001', join, async call => (await heldBy(call, one)) && mediaAt(a, one));
    const second = await until(b, '1002', join, async call => (await heldBy(call, two)) && mediaAt(b, two));
    await Promise.all([
      dialled.hearsOnly([500, 900]),
      first.phone.hearsOnly([900, 1300]),
      second.phone.hearsOnly([500, 1300]),
    ]);
    const { status } = await stack.api('DELETE', `/conferences/${room.id}`);
    assert.equal(status, 200);
    await Promise.all([dialled, first.phone, second.phone].map(call => call.ended()));
    await office.nothingLeft();
  });

  for (const [first, second] of [
    [0, 1],
    [1, 0],
  ] as const)
    it(`who talks with one through node ${first + 1} and with one through node ${second + 1} joins the two by REFER`, async () => {
      const [alice, bob, carol] = await people();
      const one = await talk(alice, bob, stack.nodes[first]);
      const two = await talk(alice, carol, stack.nodes[second]);
      const replaces = encodeURIComponent(replacesOf(two.from));
      const answer = await refer(one.from, `<sip:1003@trunkline.localhost?Replaces=${replaces}>`);
      assert.equal(answer.status, 202);
      await Promise.all([one.to.hearsOnly([HZ.carol]), two.to.hearsOnly([HZ.bob])]);
      await Promise.all([one.from.ended(), two.from.ended()]);
      await one.to.press('42#');
      await two.to.hearsDigits('42#');
      assert.deepEqual(await newsOver(alice), ['100 Trying', '200 OK, over']);
      assert.equal(crossed() > 0, true);
      await (first === 0 ? one.to : two.to).hangup();
      await Promise.all([one.to.ended(), two.to.ended()]);
      await office.nothingLeft();
    });

  it('an INVITE with Replaces takes the place of a phone, and picks up one that rings, whichever node it comes to', async () => {
    const [alice, bob, carol, dave] = await people();
    bob.incoming = { ring: true };
    for (const before = crossed(); crossed() < before + 2;) {
      const caller = await alice.dial('1002');
      const ringing = await bob.waitForCall();
      const picked = await carol.dial('1002', [{ name: 'replaces', value: replacesOf(ringing) }]);
      await Promise.all([caller.answered(), picked.answered(), ringing.ended()]);
      await Promise.all([caller.hears(HZ.carol), picked.hears(HZ.alice)]);
      const taken = await dave.dial('1001', [{ name: 'replaces', value: replacesOf(picked) }]);
      await Promise.all([taken.answered(), picked.ended()]);
      await Promise.all([caller.hearsOnly([HZ.dave]), taken.hearsOnly([HZ.alice])]);
      await caller.hangup();
      await taken.ended();
      await (await carol.dial('sip:nobody@elsewhere.example')).ended();
    }
    await office.nothingLeft();
  });

  it('a dialog that no node has is refused, and so is one that is in no conversation', async () => {
    const [alice, bob, carol] = await people();
    const [one, two] = stack.nodes;
    const pair = await talk(alice, bob, one);
    const unknown = encodeURIComponent('nobody@nowhere;to-tag=1;from-tag=2');
    assert.equal((await refer(pair.from, `<sip:1003@trunkline.localhost?Replaces=${unknown}>`)).status, 481);
    const alone = await until(carol, '1003', sleep, call => heldBy(call, two));
    const replaces = encodeURIComponent(replacesOf(alone.phone));
    assert.equal((await refer(pair.from, `<sip:1003@trunkline.localhost?Replaces=${replaces}>`)).status, 403);
    await Promise.all([pair.from.hears(HZ.bob), pair.to.hears(HZ.alice)]);
    await Promise.all([pair.from.hangup(), alone.phone.hangup()]);
    await pair.to.ended();
  });

  it('servers that hang are left within seconds: their calls end truthfully, the others take new ones, and they come back', async () => {
    const [one, two] = stack.nodes;
    const [a, b] = await Promise.all([phoneAt(one, '1001', 500), phoneAt(two, '1002', 900)]);
    const [through, beside] = [
      await until(a, '1001', sleep, () => mediaAt(a, two)),
      await until(b, '1002', sleep, () => mediaAt(b, one)),
    ];
    const safe = await until(b, '1002', sleep, () => mediaAt(b, two));
    /** How often the media-apps said so of the servers of the first machine, which are two. */
    const said = (what: string) =>
      stack.logs().filter(line => line.includes(`_server":"${one.sip.host}`) && line.includes(`"msg":"${what}`)).length;
    const everybody = (what: string) => {
      const before = said(what);
      return () =>
        eventually(
          `both media-apps say: ${what}`,
          () => said(what),
          count => count >= before + 4,
          12_000,
        );
    };
    const [allLost, allConnected] = [everybody('lost the'), everybody('connected to the')];
    process.kill(one.engine.pid, 'SIGSTOP');
    try {
      assert.deepEqual(await Promise.all([truth(through.id), truth(beside.id)]), [BROKE, BROKE]);
      assert.equal((await beside.phone.ended()).by, 'them', 'the phone is told, through its own SIP server');
      await allLost();
      for (let count = 0; count < 3; count += 1) {
        const { phone } = await until(b, '1002', sleep, () => mediaAt(b, two));
        await phone.hangup();
      }
      assert.equal((await office.call(safe.id)).status, 'progressing', 'what was elsewhere goes on');
    } finally {
      process.kill(one.engine.pid, 'SIGCONT');
    }
    through.phone.vanish();
    await allConnected();
    await safe.phone.hangup();
  });

  it('one is killed: the other takes over new calls within 10 s, and ends the calls of the dead one truthfully', async () => {
    const [one, two] = stack.nodes;
    const [a, b] = await Promise.all([phoneAt(one, '1001', 500), phoneAt(two, '1002', 900)]);
    const lost = await until(a, '1001', sleep, call => heldBy(call, two));
    const orphan = await until(b, '1002', sleep, call => heldBy(call, one));
    const safe = await until(b, '1002', sleep, async call => (await heldBy(call, two)) && mediaAt(b, two));
    // Who is left of a conversation between the two nodes: its other half was at the one that dies.
    const [alice, bob] = await Promise.all([phoneAt(two, '1003', HZ.carol), phoneAt(two, '1004', HZ.dave)]);
    const [gone, half] = [await talk(alice, bob, one), await talk(alice, b, two)];
    const replaces = encodeURIComponent(replacesOf(half.from));
    assert.equal((await refer(gone.from, `<sip:1002@trunkline.localhost?Replaces=${replaces}>`)).status, 202);
    await Promise.all([gone.from.ended(), half.from.ended(), half.to.hears(HZ.dave)]);
    const killed = performance.now();
    await Promise.all([one.mediaApp.kill9(), one.engine.kill9()]);
    const next = await until(
      b,
      '1002',
      [{ type: 'play', option: { stream_urls: ['tone_stream://%(400,0,1500)'] } }],
      () => true,
    );
    await next.phone.hears(1500);
    const after = performance.now() - killed;
    assert(after < 10_000, `the first new call was heard after ${after} ms`);
    assert.deepEqual(await Promise.all([truth(lost.id), truth(orphan.id)]), [BROKE, DIED]);
    assert.equal((await orphan.phone.ended()).by, 'them', 'a phone at the other node is told too');
    await Promise.all([gone.to.ended(), half.to.ended()]);
    lost.phone.vanish(); // its SIP server is gone: nobody can tell it
    assert.equal((await office.call(safe.id)).status, 'progressing', 'what the other holds goes on');
    await safe.phone.hangup();
  });
});

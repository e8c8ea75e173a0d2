import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';

const tone = (hz: number, ms = 20_000) => ({
  type: 'play',
  option: { stream_urls: [`tone_stream://%(${ms},0,${hz})`] },
});
interface Failure {
  error: { reason: string };
}

/** The held low note of the first bar of the music on hold. */
const MUSIC_HZ = 262;

describe('what the API does to the sound of a call', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  const control = async (method: string, id: string, what: string, body?: unknown): Promise<void> => {
    const answer = await office.stack.api(method, `/calls/${id}/${what}`, body);
    assert.deepEqual([answer.status, answer.body], [200, ''], `${method} ${what}`);
  };
  const reasonOf = async (method: string, id: string, what: string, body?: unknown): Promise<unknown[]> => {
    const answer = await office.stack.api<Failure>(method, `/calls/${id}/${what}`, body);
    return [answer.status, answer.body.error.reason];
  };

  /** Alice (500 Hz) talks to Bob (900 Hz); `call` is Alice's side of it, `leg` Bob's. */
  const conversation = async (): Promise<{ alice: PhoneCall; bob: PhoneCall; call: Call; leg: Call }> => {
    const one = await office.registered('1001', { tone: 500 });
    const two = await office.registered('1002', { tone: 900 });
    const alice = await one.dial('1002');
    const bob = await two.waitForCall({ autoAnswer: true });
    await Promise.all([alice.hearsOnly([900]), bob.hearsOnly([500])]);
    const [leg, call] = await office.calls(2);
    assert(leg && call);
    return { alice, bob, call, leg };
  };

  /** A call by API to 1001, answered, that plays a tone and goes on with another. */
  const playing = async (): Promise<{ phone: PhoneCall; id: string }> => {
    const alice = await office.registered('1001', { tone: 500 });
    const call = await office.ring('1001', [tone(800)]);
    const phone = await alice.waitForCall({ autoAnswer: true });
    await phone.hearsOnly([800]);
    return { phone, id: call.id };
  };

  const directions = [
    { asked: 'in', now: 'in', alice: [], bob: [500] },
    { asked: 'out', now: 'out', alice: [900], bob: [] },
    { asked: '', now: 'both', alice: [], bob: [] },
  ];
  for (const { asked, now, ...hears } of directions)
    it(`mute ${asked || 'both'}: the party hears ${hears.alice.length} and is heard by ${hears.bob.length}`, async () => {
      const { alice, bob, call } = await conversation();
      await control('POST', call.id, 'mute', { direction: asked });
      await Promise.all([alice.hearsOnly(hears.alice), bob.hearsOnly(hears.bob)]);
      assert.equal((await office.call(call.id)).mute_direction, now);
      await control('DELETE', call.id, 'mute', {});
      await Promise.all([alice.hearsOnly([900]), bob.hearsOnly([500])]);
      assert.equal((await office.call(call.id)).mute_direction, '');
      await alice.hangup();
      await bob.ended();
    });

  it('of a call muted both ways one way can be opened, and each change is told', async () => {
    const { alice, bob, leg } = await conversation();
    const heard = await office.listen();
    await control('POST', leg.id, 'mute', { direction: 'both' });
    await control('DELETE', leg.id, 'mute', { direction: 'in' });
    await Promise.all([alice.hearsOnly([]), bob.hearsOnly([500])]);
    await control('DELETE', leg.id, 'mute', { direction: 'in' });
    const changes = () =>
      heard.filter(({ event_type, data }) => event_type === 'call_updated' && data['id'] === leg.id);
    await eventually('three changes', changes, all => all.length >= 3);
    assert.deepEqual(
      changes().map(({ data }) => data['mute_direction']),
      ['both', 'out', 'out'],
    );
    await alice.hangup();
    await bob.ended();
  });

  for (const side of ['caller', 'callee'] as const)
    it(`hold: the ${side}’s phone is told to send nothing and neither hears the other, until it is resumed`, async () => {
      const { alice, bob, call, leg } = await conversation();
      const [phone, id, before] =
        side === 'caller' ? [office.phones[0], call.id, 0] : ([office.phones[1], leg.id, 1] as const);
      await control('POST', id, 'hold');
      const offer = await phone?.message('INVITE', { direction: 'received', count: before + 1 });
      assert.match(offer?.message.body ?? '', /a=sendonly/);
      await Promise.all([alice.hearsSilence(), bob.hearsSilence()]);
      await control('POST', id, 'hold'); // twice is no more than once
      await control('DELETE', id, 'hold');
      const resumed = await phone?.message('INVITE', { direction: 'received', count: before + 2 });
      assert.match(resumed?.message.body ?? '', /a=sendrecv/);
      await Promise.all([alice.hearsOnly([900]), bob.hearsOnly([500])]);
      await alice.hangup();
      await bob.ended();
    });

  it('a phone that refuses to be put on hold is held all the same, and resumed', async () => {
    const { alice, bob, call } = await conversation();
    const { media } = alice.inner.sip;
    assert(media);
    media.answer = () => undefined; // 488 to every offer
    await control('POST', call.id, 'hold');
    await Promise.all([alice.hearsSilence(), bob.hearsSilence()]);
    await control('DELETE', call.id, 'hold');
    await Promise.all([alice.hearsOnly([900]), bob.hearsOnly([500])]);
    await alice.hangup();
    await bob.ended();
  });

  it('a phone that resumes by itself while it is held stays held', async () => {
    const { alice, bob, call } = await conversation();
    await control('POST', call.id, 'hold');
    assert.equal(await alice.hold(false), 200);
    await Promise.all([alice.hearsSilence(), bob.hearsSilence()]);
    await control('DELETE', call.id, 'hold');
    await Promise.all([alice.hearsOnly([900]), bob.hearsOnly([500])]);
    await alice.hangup();
    await bob.ended();
  });

  it('music on hold is heard in place of the conversation and of the silence, by the party alone', async () => {
    const { alice, bob, call } = await conversation();
    await control('POST', call.id, 'hold');
    await control('POST', call.id, 'moh');
    await alice.hears(MUSIC_HZ);
    assert(!alice.heardTones().includes(900));
    await bob.hearsSilence();
    await control('DELETE', call.id, 'hold');
    await bob.hearsOnly([500]);
    await control('DELETE', call.id, 'moh');
    await alice.hearsOnly([900]);
    await alice.hangup();
    await bob.ended();
  });

  it('music and silence hide what the flow plays, and the flow goes on underneath', async () => {
    const alice = await office.registered('1001');
    const call = await office.ring('1001', [tone(800, 1500), tone(1200)]);
    const phone = await alice.waitForCall({ autoAnswer: true });
    await phone.hearsOnly([800]);
    await control('POST', call.id, 'silence');
    await phone.hearsSilence();
    await control('POST', call.id, 'moh');
    await phone.hears(MUSIC_HZ);
    await control('DELETE', call.id, 'moh');
    await phone.hearsSilence({ for_ms: 1000 });
    await control('DELETE', call.id, 'silence');
    await phone.hearsOnly([1200]);
    await phone.hangup();
  });

  it('talk is heard during a flow that stays where it is, and then the flow is heard again', async () => {
    const { phone, id } = await playing();
    const before = await office.call(id);
    await control('POST', id, 'talk', { text: 'Please hold the line, somebody will be with you in a moment.' });
    await phone.hearsSpeech();
    assert.equal((await office.call(id)).action.id, before.action.id);
    await phone.hearsOnly([800], { within_ms: 10_000 });
    await phone.hangup();
  });

  it('talk answers an incoming call whose flow has not', async () => {
    const { body: flow } = await office.stack.api<{ id: string }>('POST', '/flows', {
      name: 'rings',
      actions: [{ type: 'sleep', option: { duration: 30_000 } }],
    });
    const ownFlow = (call_flow_id: string) =>
      office.stack.api('PUT', `/numbers/${numberId}`, { call_flow_id }).then(({ status }) => assert.equal(status, 200));
    const { body: numbers } = await office.stack.api<{ result: { id: string; number: string }[] }>('GET', '/numbers');
    const numberId = numbers.result.find(({ number }) => number === office.stack.welcome.number)?.id ?? '';
    await ownFlow(flow.id);
    try {
      const phone = await (await office.registered('1001')).dial(office.stack.welcome.number);
      await phone.ringing();
      const [call] = await eventually(
        'the call that rings', // the phone may hear 180 before the list has the call
        () => office.calls(1),
        ([one]) => one?.direction === 'incoming' && one.status === 'ringing',
      );
      assert(call);
      assert.deepEqual(await reasonOf('POST', call.id, 'moh'), [409, 'CALL_STATE_INVALID']);
      await control('POST', call.id, 'talk', { text: 'Good morning, and thank you for calling us.' });
      await phone.answered();
      await phone.hearsSpeech();
      await phone.hangup();
    } finally {
      await ownFlow(office.stack.welcome.flow_id);
    }
  });

  it('the mute action of a flow mutes both ways', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const call = await office.ring('1001', [
      { type: 'mute', option: {} },
      { type: 'echo', option: { duration: 20_000 } },
    ]);
    const phone = await alice.waitForCall({ autoAnswer: true });
    await eventually(
      'the mute',
      () => office.call(call.id),
      ({ mute_direction, action }) => mute_direction === 'both' && action.type === 'echo',
    );
    await phone.hearsSilence();
    await control('DELETE', call.id, 'mute', { direction: 'both' });
    await phone.hearsOnly([500]);
    await phone.hangup();
  });

  it('a call that rings, ends or has ended is left alone, and says why', async () => {
    const alice = await office.registered('1001');
    const call = await office.ring('1001', [tone(800)]);
    const ringing = await alice.waitForCall();
    for (const what of ['hold', 'moh', 'silence'])
      for (const method of ['POST', 'DELETE'])
        assert.deepEqual(await reasonOf(method, call.id, what), [409, 'CALL_STATE_INVALID']);
    assert.deepEqual(await reasonOf('POST', call.id, 'mute', {}), [409, 'CALL_STATE_INVALID']);
    assert.deepEqual(await reasonOf('POST', call.id, 'talk', { text: 'hello' }), [409, 'CALL_STATE_INVALID']);
    ringing.reject(486);
    await office.ended(call.id);
    assert.deepEqual(await reasonOf('POST', call.id, 'hold'), [409, 'CALL_ALREADY_HANGUP']);
    assert.deepEqual(await reasonOf('POST', call.id, 'talk', { text: 'hello' }), [409, 'CALL_ALREADY_HANGUP']);
  });
});

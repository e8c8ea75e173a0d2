import { strict as assert } from 'node:assert';
import { TestPhone } from '../../support/phone.ts';
import type { TestPhoneOptions } from '../../support/phone.ts';
import type { PhoneCall } from '../../support/phone-call.ts';
import { SPOKEN, speech } from './sounds.ts';

describe('two phones calling each other without a server', () => {
  const phones: TestPhone[] = [];

  async function phone(username: string, options: Partial<TestPhoneOptions> = {}): Promise<TestPhone> {
    const made = await TestPhone.start({ username, ...options });
    phones.push(made);
    return made;
  }

  async function talk(alice: TestPhone, bob: TestPhone, target = bob.address): Promise<[PhoneCall, PhoneCall]> {
    const call = await alice.dial(target);
    const incoming = await bob.waitForCall();
    incoming.answer();
    await Promise.all([call.answered(), incoming.answered()]);
    return [call, incoming];
  }

  afterEach(async () => {
    const stopped = await Promise.allSettled(phones.splice(0).map(one => one.stop()));
    const failed = stopped.find(one => one.status === 'rejected');
    if (failed) throw failed.reason;
  });

  it('hear the other side and nothing else', async () => {
    const [call, incoming] = await talk(await phone('alice', { tone: 440 }), await phone('bob', { tone: 620 }));
    await Promise.all([call.hearsOnly([620]), incoming.hearsOnly([440])]);
    await call.hangup();
    assert.deepEqual(await call.ended(), { by: 'us' });
    assert.equal((await incoming.ended()).by, 'them');
  });

  it('hear silence, speech and tones as they are played one after another', async () => {
    const [call, incoming] = await talk(await phone('alice'), await phone('bob'));
    await incoming.hearsSilence({ for_ms: 200 });
    void call.playSamples(speech('espeak-ng', SPOKEN));
    await incoming.hearsSpeech({ within_ms: 4000 });
    call.playTone(1000, 1300);
    await incoming.hearsOnly([1000, 1300]);
    call.playSilence();
    await incoming.hearsSilence({ for_ms: 200 });
    await incoming.hasHeard(1300);
    await call.hangup();
    await incoming.ended();
  });

  it('the called side hangs up and the caller learns it', async () => {
    const [call, incoming] = await talk(await phone('alice'), await phone('bob'));
    await incoming.hangup();
    assert.deepEqual(await call.ended(), { by: 'them', reason: undefined });
  });

  it('keys pressed are received once each, with their length, and interrupt the tone', async () => {
    const [call, incoming] = await talk(await phone('alice', { tone: 500 }), await phone('bob'));
    await call.press('159#', { duration_ms: 100 });
    await call.press('*');
    await incoming.hearsDigits('159#*');
    assert.deepEqual(
      incoming.keys().map(key => key.duration_ms),
      [100, 100, 100, 100, 160],
    );
    await incoming.hearsOnly([500]);
    await call.hangup();
  });

  it('a phone without telephone events presses keys as tones', async () => {
    const [call, incoming] = await talk(await phone('alice', { events: false }), await phone('bob'));
    await call.press('5', { duration_ms: 300 });
    await incoming.hasHeard(770);
    await incoming.hasHeard(1336);
    assert.equal(incoming.digits(), '');
    await call.hangup();
  });

  it('a phone that speaks only A-law is understood', async () => {
    const alice = await phone('alice', { codecs: ['PCMA'], tone: 440 });
    const [call, incoming] = await talk(alice, await phone('bob', { tone: 620 }));
    await Promise.all([call.hearsOnly([620]), incoming.hearsOnly([440])]);
    await incoming.hangup();
  });

  it('phones without a common codec refuse the call with 488', async () => {
    const alice = await phone('alice', { codecs: ['PCMA'] });
    const bob = await phone('bob', { codecs: ['PCMU'], incoming: { autoAnswer: true } });
    const call = await alice.dial(bob.address);
    assert.equal((await call.ended()).status, 488);
  });

  it('talk over TCP as well, also when the called side hangs up', async () => {
    const bob = await phone('bob', { transport: 'tcp', tone: 620 });
    const alice = await phone('alice', { transport: 'tcp', tone: 440 });
    const [call, incoming] = await talk(alice, bob);
    await Promise.all([call.hearsOnly([620]), incoming.hearsOnly([440])]);
    await incoming.hangup();
    assert.equal((await call.ended()).by, 'them');
  });

  it('a port where nobody listens refuses at once over TCP', async () => {
    const bob = await phone('bob', { transport: 'tcp' });
    const target = bob.address;
    await bob.stop();
    const alice = await phone('alice', { transport: 'tcp' });
    const call = await alice.dial(target);
    assert.deepEqual((await call.ended({ within_ms: 1000 })).status, 408);
  });

  it('the caller hears it ring, takes the call back, and the called side stops ringing', async () => {
    const [alice, bob] = [await phone('alice'), await phone('bob')];
    const call = await alice.dial(bob.address);
    const incoming = await bob.waitForCall();
    await call.ringing();
    await call.cancel();
    assert.deepEqual(await call.ended(), { by: 'us', status: 487, reason: 'Request Terminated' });
    assert.equal((await incoming.ended()).by, 'them');
    await bob.message('ACK', { direction: 'received' });
  });

  it('a caller who gives up before anything has come back cancels as soon as it may', async () => {
    const [alice, bob] = [await phone('alice'), await phone('bob', { incoming: { ring: false } })];
    const call = await alice.dial(bob.address);
    await call.cancel();
    assert.equal((await call.ended()).by, 'us');
    const order = alice.messages('100 INVITE')[0]?.at ?? Infinity;
    assert.ok(order < (alice.messages('CANCEL')[0]?.at ?? 0), 'the CANCEL went out before any provisional response');
  });

  for (const status of [486, 603, 480]) {
    it(`a called side that refuses with ${status} is reported so`, async () => {
      const [alice, bob] = [await phone('alice'), await phone('bob', { incoming: { refuse: status } })];
      const call = await alice.dial(bob.address);
      const end = await call.ended();
      assert.deepEqual([end.by, end.status], ['refused', status]);
      await assert.rejects(call.answered(), /did not be answered|refused/);
    });
  }

  it('a phone that answers by itself does so after the time it was told', async () => {
    const [alice, bob] = [await phone('alice'), await phone('bob', { incoming: { answerAfterMs: 150 } })];
    const call = await alice.dial(bob.address);
    await call.answered();
    const { ringing = 0, answered = 0 } = call.times;
    assert.ok(answered - ringing >= 140, `answered ${answered - ringing} ms after ringing`);
    await call.hangup();
  });

  it('early media is heard before the answer', async () => {
    const [alice, bob] = [await phone('alice'), await phone('bob', { tone: 700 })];
    const call = await alice.dial(bob.address);
    const incoming = await bob.waitForCall();
    incoming.progress();
    await call.hearsOnly([700]);
    assert.equal(call.state, 'ringing');
    incoming.answer();
    await call.answered();
    await call.hangup();
  });

  it('hold stops the other side from being heard, and resuming brings it back', async () => {
    const [call, incoming] = await talk(await phone('alice', { tone: 440 }), await phone('bob', { tone: 620 }));
    await call.hearsOnly([620]);
    assert.equal(await call.hold(), 200);
    await call.hearsSilence();
    await incoming.hearsOnly([440]);
    assert.equal(await call.hold(false), 200);
    await Promise.all([call.hearsOnly([620]), incoming.hearsOnly([440])]);
    await incoming.hangup();
    await call.ended();
  });

  it('mute is heard as silence', async () => {
    const [call, incoming] = await talk(await phone('alice', { tone: 440 }), await phone('bob'));
    await incoming.hearsOnly([440]);
    call.mute();
    await incoming.hearsSilence();
    await call.hangup();
  });

  it('a phone that vanishes neither answers BYE nor sends audio any more', async () => {
    const timing = { t1_ms: 10, t2_ms: 40 };
    const [call, incoming] = await talk(await phone('alice', { timing }), await phone('bob', { tone: 620 }));
    await call.hearsOnly([620]);
    incoming.vanish();
    await call.hearsSilence();
    await call.hangup();
    assert.equal(phones[1]?.messages('200 BYE').length, 0);
    assert.ok((phones[0]?.messages('BYE').length ?? 0) > 3, 'BYE is repeated');
  });

  it('a phone with no network at all is as silent as no phone: the caller gets 408', async () => {
    const timing = { t1_ms: 5, t2_ms: 20 };
    const [alice, bob] = [await phone('alice', { timing }), await phone('bob')];
    bob.vanish();
    const call = await alice.dial(bob.address);
    assert.deepEqual((await call.ended()).status, 408);
    const sent = alice.messages('INVITE', 'sent').map(entry => entry.at);
    const pauses = sent.slice(1).map((at, i) => at - (sent[i] ?? 0));
    assert.ok(sent.length >= 5 && sent.length <= 7, `sent ${sent.length} times`);
    assert.ok((pauses.at(-1) ?? 0) > (pauses[0] ?? 0) * 4, 'pauses double');
  });

  it('answers OPTIONS, INFO and NOTIFY within a call with 200', async () => {
    const [call, incoming] = await talk(await phone('alice'), await phone('bob'));
    const answers = await Promise.all(['OPTIONS', 'INFO', 'NOTIFY'].map(method => call.inner.sip.request(method)));
    assert.deepEqual(
      answers.map(answer => answer?.status),
      [200, 200, 200],
    );
    await incoming.hangup();
  });

  it('times tell when the INVITE came, the answer went and the first sound arrived', async () => {
    const [call, incoming] = await talk(await phone('alice', { tone: 440 }), await phone('bob', { tone: 620 }));
    await Promise.all([call.hears(620), incoming.hears(440)]);
    const { invite = 0, answered = 0, firstPacket = 0, firstAudible = 0 } = call.times;
    assert.ok(0 < invite && invite <= answered && firstPacket <= firstAudible);
    assert.ok(incoming.times.acknowledged !== undefined, 'the ACK was seen');
    await call.hangup();
  });

  it('a test that forgets a call is told which one when it stops the phone', async () => {
    const [alice, bob] = [await phone('alice'), await phone('bob')];
    const [call] = await talk(alice, bob);
    phones.shift();
    await assert.rejects(alice.stop(), new RegExp(`1 open dialog\\(s\\): out ${call.call_id}`));
  });

  it('a tone that never comes is reported with what was heard instead', async () => {
    const [call] = await talk(await phone('alice'), await phone('bob', { tone: 620 }));
    await call.hearsOnly([620]);
    await assert.rejects(
      call.hears(440, { within_ms: 100 }),
      /alice did not hear 440 Hz in 100 ms; last heard: 620 Hz/,
    );
    await call.hangup();
  });
});

import { strict as assert } from 'node:assert';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';

describe('one phone dials another', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  for (const who of ['caller', 'callee'] as const) {
    it(`each hears the other and nothing else, and the ${who} hangs up for both`, async () => {
      const alice = await office.registered('1001', { tone: 500 });
      const bob = await office.registered('1002', { tone: 900 });
      const out = await alice.dial('1002');
      const incoming = await bob.waitForCall();
      await out.ringing();
      incoming.answer();
      await out.answered();
      await out.hearsOnly([900]);
      await incoming.hearsOnly([500]);
      await (who === 'caller' ? out : incoming).hangup();
      await Promise.all([out.ended(), incoming.ended()]);
      const [, first] = await eventually(
        'both records',
        () => office.calls(2),
        calls => calls.every(one => one.status === 'hangup'),
      );
      assert(first);
      assert.equal(first.direction, 'incoming');
      assert.deepEqual(
        [first.hangup_by, first.hangup_reason],
        who === 'caller' ? ['remote', 'normal'] : ['local', 'normal'],
      );
      assert.equal(first.chained_call_ids.length, 1);
    });
  }

  it('passes the keys one presses to the other', async () => {
    const alice = await office.registered('1001');
    const bob = await office.registered('1002');
    const out = await alice.dial('1002');
    (await bob.waitForCall()).answer();
    await out.answered();
    await out.hearsSilence();
    await out.press('42#');
    await bob.calls[0]?.hearsDigits('42#');
    await out.hangup();
    await bob.calls[0]?.ended();
  });

  it('a colleague who answers in the very moment it rings is joined, every time', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const bob = await office.registered('1002', { tone: 900, incoming: { ring: false, autoAnswer: true } });
    for (let round = 0; round < 10; round += 1) {
      const out = await alice.dial('1002');
      const incoming = await bob.waitForCall();
      await Promise.all([out.hearsOnly([900]), incoming.hearsOnly([500])]);
      await out.hangup();
      await incoming.ended();
    }
  });

  it('both phones of an extension ring, and the other stops when one answers', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const desk = await office.registered('1002', { tone: 900 });
    const softphone = await office.registered('1002', { tone: 1300 });
    const out = await alice.dial('1002');
    const [first, second] = await Promise.all([desk.waitForCall(), softphone.waitForCall()]);
    second.answer();
    await out.answered();
    const lost = await first.ended();
    assert.equal(lost.by, 'them');
    await out.hearsOnly([1300]);
    await out.hangup();
    await second.ended();
  });

  it('keeps talking through hold and resume by re-INVITE', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const bob = await office.registered('1002', { tone: 900 });
    const out = await alice.dial('1002');
    const incoming = await bob.waitForCall();
    incoming.answer();
    await out.answered();
    await incoming.hearsOnly([500]);
    assert.equal(await out.hold(true), 200);
    assert.equal(await out.hold(false), 200);
    await out.hearsOnly([900]);
    await out.hangup();
    await incoming.ended();
  });
});

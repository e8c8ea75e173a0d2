import { strict as assert } from 'node:assert';
import { header, type SipMessage } from '../../scripts/phone/sip-message.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import type { Stack } from '../support/stack.ts';
import { tone } from '../support/rooms.ts';

const sleep = { type: 'sleep', option: { duration: 60_000 } };

describe('what phones read in our messages', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;

  withOffice(opened => {
    office = opened;
    stack = office.stack;
  });

  const received = async (phone: TestPhone, title: string, count = 1): Promise<SipMessage> =>
    (await phone.message(title, { direction: 'received', count })).message;

  /** Phones show a transfer key only where REFER and Replaces are understood. */
  const saysWhatWeCan = (message: SipMessage, title: string): void => {
    const allowed = (header(message, 'allow') ?? '').split(/,\s*/);
    for (const method of ['INVITE', 'ACK', 'CANCEL', 'BYE', 'OPTIONS', 'INFO', 'UPDATE', 'REFER'])
      assert(allowed.includes(method), `${title} allows ${allowed.join(', ')}, not ${method}`);
    assert.match(header(message, 'supported') ?? '', /\breplaces\b/, title);
  };

  it('INVITEs, ringing, answers, re-INVITEs and OPTIONS say that REFER and Replaces are understood', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const bob = await office.registered('1002', { tone: 900, incoming: { autoAnswer: true } });
    const call = await alice.dial('1002');
    await call.answered();
    await call.hearsOnly([900]);
    assert.equal(await call.inner.hold(), 200);
    const options = await call.inner.sip.request('OPTIONS');
    assert(options);
    saysWhatWeCan(options, 'the answer to OPTIONS');
    saysWhatWeCan(await received(bob, 'INVITE'), 'INVITE');
    saysWhatWeCan(await received(alice, '180 INVITE'), '180');
    saysWhatWeCan(await received(alice, '200 INVITE'), '200');
    saysWhatWeCan(await received(alice, '200 INVITE', 2), '200 to a re-INVITE');
    await call.hangup();
    await bob.calls[0]?.ended();
  });

  it('an UPDATE holds and resumes like a re-INVITE, and one without an offer is a sign of life', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    await office.ring('1001', [tone(700, 20_000)]);
    const call = await phone.waitForCall();
    await call.hearsOnly([700]);
    const { message: answer } = await phone.message('200 INVITE', { direction: 'sent' });
    const offered = (direction: string) =>
      call.inner.sip.request(
        'UPDATE',
        [{ name: 'content-type', value: 'application/sdp' }],
        answer.body.replace(/a=sendrecv\r\n/, '').replace(/\s*$/, `\r\na=${direction}\r\n`),
      );
    const empty = await call.inner.sip.request('UPDATE');
    assert.deepEqual([empty?.status, empty?.body], [200, '']);
    assert.match((await offered('sendonly'))?.body ?? '', /a=recvonly/);
    await call.hearsSilence();
    const resumed = await offered('sendrecv');
    assert.doesNotMatch(resumed?.body ?? '', /a=(recvonly|inactive)/);
    await call.hearsOnly([700]);
    await call.hangup();
  });

  const reasons: [what: string, reason: string, cause: RegExp][] = [
    ['a hang-up by the flow', 'normal', /^Q\.850;cause=16;/],
    ['busy', 'busy', /^Q\.850;cause=17;/],
    ['no answer', 'noanswer', /^Q\.850;cause=19;/],
    ['failed', 'failed', /^Q\.850;cause=18;/],
  ];
  for (const [what, reason, cause] of reasons) {
    it(`BYE says why (RFC 3326): ${what}`, async () => {
      const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
      await office.ring('1001', [{ type: 'hangup', option: { reason } }]);
      await (await phone.waitForCall()).ended();
      assert.match(header(await received(phone, 'BYE'), 'reason') ?? '', cause);
    });
  }

  it('a refusal and a CANCEL say why', async () => {
    const alice = await office.registered('1001');
    const bob = await office.registered('1002', { incoming: { refuse: 486 } });
    await (await alice.dial('1002')).ended();
    assert.match(header(await received(alice, '486 INVITE'), 'reason') ?? '', /^Q\.850;cause=17;/);
    bob.incoming = {};
    const call = await office.ring('1002', [sleep]);
    const incoming = await bob.waitForCall();
    await stack.api('POST', `/calls/${call.id}/hangup`);
    await incoming.ended();
    assert.match(header(await received(bob, 'CANCEL'), 'reason') ?? '', /^SIP;cause=487/);
  });
});

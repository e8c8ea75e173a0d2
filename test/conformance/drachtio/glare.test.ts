import { strict as assert } from 'node:assert';
import { engineOnly, onEngine } from '../../support/engine-only.ts';
import { withLine, type Line } from './line.ts';
import { SDP, type UdpPeer } from './peer.ts';
import { next, SHORT, type Request, type Response } from './rig.ts';

describe('drachtio: both sides at once', () => {
  let line: Line;
  let phone: UdpPeer;
  withLine((...given) => ([line, phone] = given));

  const statusOf = (sent: Promise<Response>): Promise<number> => sent.then(response => response.status);

  for (const [ours, theirs] of [
    ['INVITE', 'INVITE'],
    ['INVITE', 'UPDATE'],
    ['UPDATE', 'INVITE'],
    ['UPDATE', 'UPDATE'],
  ] as const)
    engineOnly(
      'drachtio-server announces both',
      `an offer in ${theirs} that crosses ours in ${ours} gets 491, and ours goes on`,
      async () => {
        const { invite, ok, call } = await line.called(phone);
        const offered = statusOf(call.request({ method: ours, body: SDP }));
        const request = await phone.expect(new RegExp(`^${ours}`));
        const own = phone.inDialog(theirs, invite, ok, 2, {}, SDP);
        const refused = await phone.expect(/ 491 /);
        assert.equal(refused.get('CSeq'), `2 ${theirs}`);
        if (theirs === 'INVITE') phone.companion('ACK', own, refused.get('To'));
        phone.answer(request, '200 OK', {}, SDP);
        assert.equal(await offered, 200);
        await line.hangUp(phone, call);
      },
    );

  for (const method of ['INVITE', 'UPDATE'])
    engineOnly(
      'drachtio-server announces both',
      `a second ${method} before the first is answered gets 500 and a time to come back`,
      async () => {
        const { invite, ok, call } = await line.called(phone);
        const event = method === 'INVITE' ? 'modify' : 'update';
        const held = next(call, event) as Promise<[Request, Response]>;
        phone.inDialog(method, invite, ok, 2, {}, SDP);
        const [, response] = await held;
        const second = phone.inDialog(method, invite, ok, 3, {}, SDP);
        const refused = await phone.expect(/ 500 /);
        assert.equal(refused.get('CSeq'), `3 ${method}`);
        assert.match(refused.get('Retry-After'), /^(\d|10)$/);
        if (method === 'INVITE') phone.companion('ACK', second, refused.get('To'));
        response.send(200, { body: SDP });
        assert.equal((await phone.expect(/ 200 /)).get('CSeq'), `2 ${method}`);
        if (method === 'INVITE') phone.inDialog('ACK', invite, ok, 2);
        await line.hangUp(phone, call);
      },
    );

  engineOnly(
    'drachtio-server goes on sending to the first Contact, and answers UPDATE without one (RFC 3311 5.2)',
    'an UPDATE of the caller moves the call to his new Contact',
    async () => {
      const { invite, ok, call } = await line.called(phone);
      const elsewhere = await line.rig.phone();
      phone.inDialog('UPDATE', invite, ok, 2, { Contact: elsewhere.contact() }, SDP);
      const updated = await phone.expect(/ 200 /);
      assert.equal(updated.body, SDP);
      assert.match(updated.get('Contact'), /^<sip:127/);
      const gone = call.destroy();
      const bye = await elsewhere.expect(/^BYE/);
      assert.equal(bye.start, `BYE sip:alice@127.0.0.1:${elsewhere.port} SIP/2.0`);
      elsewhere.answer(bye, '200 OK');
      await gone;
    },
  );

  it('an UPDATE of the application reaches the callee and brings his answer', async () => {
    const { call } = await line.calling(phone);
    const updated = call.request({ method: 'UPDATE', body: SDP });
    const update = await phone.expect(/^UPDATE/);
    await onEngine('drachtio-server leaves the Contact of an UPDATE (RFC 3311 5.1) to the application', () =>
      assert.match(update.get('Contact'), /^<sip:/),
    );
    phone.answer(update, '200 OK', {}, SDP);
    assert.equal((await updated).status, 200);
    await line.hangUp(phone, call);
  });

  it('a caller who hangs up before his ACK is answered, and the 200 is repeated no more', async () => {
    const { invite, ok, call } = await line.answered(phone);
    const destroyed = next(call, 'destroy');
    phone.inDialog('BYE', invite, ok, 2);
    assert.equal((await phone.expect(/ 200 .*\r?/)).get('To'), ok.get('To'));
    await destroyed;
    await line.rig.comesToHold({ dialogs: 0 });
    phone.heard.splice(0);
    await new Promise(resolve => setTimeout(resolve, 4 * SHORT.T2));
    assert.deepEqual(
      phone.heard.map(one => one.get('CSeq')),
      [],
    );
  });

  engineOnly(
    'drachtio-server sends the BYE at once',
    'an application that hangs up before the ACK has its BYE held until the ACK',
    async () => {
      const { invite, ok, call } = await line.answered(phone);
      const gone = call.destroy({ headers: { 'X-Why': 'done' } });
      await phone.expect(/ 200 /); // the 200 again: the time in which a BYE would have come
      assert.equal(phone.heard.filter(one => one.start.startsWith('BYE')).length, 0);
      phone.inDialog('ACK', invite, ok, 1);
      const bye = await phone.expect(/^BYE/);
      assert.equal(bye.get('X-Why'), 'done');
      phone.answer(bye, '200 OK');
      await gone;
    },
  );

  it('a BYE that waits for an ACK that never comes goes out in its place', async () => {
    const { call } = await line.answered(phone);
    const gone = call.destroy({ headers: { 'X-Why': 'done' } });
    const bye = await phone.expect(/^BYE/);
    assert.equal(bye.get('X-Why'), 'done');
    assert.equal(bye.get('Reason'), '');
    phone.answer(bye, '200 OK');
    await gone;
    line.rig.holds({ dialogs: 0 });
  });

  it('a re-INVITE that is cancelled gets 487, and the call stands', async () => {
    const { invite, ok, call } = await line.called(phone);
    const held = next(call, 'modify');
    const reinvite = phone.inDialog('INVITE', invite, ok, 2, {}, SDP);
    await held;
    phone.companion('CANCEL', reinvite, ok.get('To'));
    const terminated = await phone.expect(/ 487 /);
    phone.companion('ACK', reinvite, terminated.get('To'));
    await line.hangUp(phone, call);
  });

  it('a re-INVITE that is open when the caller hangs up is refused, and the BYE is answered', async () => {
    const { invite, ok, call } = await line.called(phone);
    const held = next(call, 'modify') as Promise<[Request, Response]>;
    const reinvite = phone.inDialog('INVITE', invite, ok, 2, {}, SDP);
    await held;
    phone.inDialog('BYE', invite, ok, 3);
    const terminated = await phone.expect(/ (487|500) /); // RFC 3261 15.1.2 recommends 487; drachtio-server says 500
    phone.companion('ACK', reinvite, terminated.get('To'));
    await phone.expect(/ 200 /);
    line.rig.holds({ dialogs: 0 });
  });

  it('a CANCEL that comes before its INVITE finds nothing, and the call rings', async () => {
    const early = { Via: phone.via(), From: '<sip:alice@127.0.0.1>;tag=race', 'Call-ID': `race-${phone.port}` };
    phone.request('CANCEL', line.rig.uri(), { ...early, CSeq: '1 CANCEL' });
    await phone.expect(/ 481 /);
    line.handle = (_request, response) => {
      line.handle = (again, reply) => line.answer(again, reply);
      response.send(486);
    };
    const invite = phone.request('INVITE', line.rig.uri(), { ...early, CSeq: '1 INVITE' }, SDP);
    phone.companion('ACK', invite, (await phone.expect(/ 486 /)).get('To'));
  });
});

import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { eventually } from '../../support/eventually.ts';
import { ownServers } from '../../support/own-servers.ts';
import { Line } from './line.ts';
import { SDP, type Heard, type UdpPeer } from './peer.ts';
import { next, type Call } from './rig.ts';

/** Sessions of one second, back-offs of a fifth; what takes its time runs at once, before the tests ask for it. */
const SECOND = { minSessionSeconds: 1, timers: { T1: 50, T2: 400, T4: 500 } };
const WHY = 'a session of drachtio-server lasts 90 s at least';
const CARRIED_ON = 'a re-INVITE of the application carries the session on';

describe('drachtio: session timers (RFC 4028)', () => {
  let line: Line;
  const timed = new Map<string, Promise<void>>();

  /** A phone's call whose application answers with this Session-Expires, '' for none of its own. */
  async function session(asked: string, granted: string): Promise<Session> {
    const phone = await line.rig.phone();
    const headers: Record<string, string> = asked === '' ? {} : { Supported: 'timer', 'Session-Expires': asked };
    const invite = phone.request('INVITE', line.rig.uri(), { ...headers, 'X-Grant': granted }, SDP);
    const ok = await phone.expect(/ 200 /);
    phone.inDialog('ACK', invite, ok, 1);
    const known = () => calls.get(invite.get('Call-ID'));
    const call = await eventually('the call of the application', known, found => found !== undefined);
    assert(call);
    return { phone, invite, ok, call };
  }
  const calls = new Map<string, Call>();
  interface Session {
    phone: UdpPeer;
    invite: Heard;
    ok: Heard;
    call: Call;
  }

  const end = async ({ phone, invite, ok }: Session, seq: number): Promise<void> => {
    phone.inDialog('BYE', invite, ok, seq);
    await phone.expect(/ 200 /);
  };

  const scenarios: Record<string, () => Promise<void>> = {
    'the server refreshes when the answer says so, with the SDP of the application, and the call goes on': async () => {
      const one = await session('1', '1;refresher=uas');
      for (let i = 0; i < 3; i++) {
        const refresh = await one.phone.expect(/^INVITE/);
        assert.equal(refresh.get('Session-Expires'), '1;refresher=uac');
        assert.equal(refresh.get('Min-SE'), '1');
        assert.equal(refresh.body, SDP);
        one.phone.answer(refresh, '200 OK', { 'Session-Expires': '1;refresher=uac' }, SDP);
        assert.equal(parseInt((await one.phone.expect(/^ACK/)).get('CSeq')), parseInt(refresh.get('CSeq')));
      }
      await end(one, 2);
    },
    'a refresh that meets a re-INVITE is tried again after 491': async () => {
      const one = await session('1', '1;refresher=uas');
      one.phone.answer(await one.phone.expect(/^INVITE/), '491 Request Pending');
      await one.phone.expect(/^ACK/);
      const refresh = await one.phone.expect(/^INVITE/);
      one.phone.answer(refresh, '200 OK', { 'Session-Expires': '1;refresher=uac' }, SDP);
      await one.phone.expect(/^ACK/);
      await end(one, 2);
    },
    'a refresh that is refused ends the call': async () => {
      const one = await session('1', '1;refresher=uas');
      const destroyed = next(one.call, 'destroy');
      one.phone.answer(await one.phone.expect(/^INVITE/), '500 Server Internal Error');
      await one.phone.expect(/^ACK/);
      const bye = await one.phone.expect(/^BYE/);
      assert.equal(bye.get('Reason'), 'SIP;cause=200;text="Session timer expired"');
      one.phone.answer(bye, '200 OK');
      assert.equal((await destroyed)[1], 'Session timer expired');
    },
    'a refresh that is too short is repeated with the Min-SE of the other side': async () => {
      const one = await session('1', '1;refresher=uas');
      one.phone.answer(await one.phone.expect(/^INVITE/), '422 Session Interval Too Small', { 'Min-SE': '7' });
      const longer = await one.phone.expect(/^INVITE/);
      assert.equal(longer.get('Session-Expires'), '7;refresher=uac');
      one.phone.answer(longer, '200 OK', { 'Session-Expires': '7;refresher=uac' }, SDP);
      await one.phone.expect(/^ACK/);
      await end(one, 2);
    },
    'a caller who should refresh and does not is hung up on': async () => {
      const one = await session('', '1;refresher=uac');
      const destroyed = next(one.call, 'destroy');
      const bye = await one.phone.expect(/^BYE/);
      assert.equal(bye.get('Reason'), 'SIP;cause=200;text="Session timer expired"');
      one.phone.answer(bye, '200 OK');
      assert.equal((await destroyed)[1], 'Session timer expired');
    },
    'a caller who refreshes by re-INVITE and UPDATE keeps his call': async () => {
      const one = await session('1;refresher=uac', '');
      assert.equal(one.ok.get('Session-Expires'), '1;refresher=uac');
      const sign = { Supported: 'timer', 'Session-Expires': '1;refresher=uac' };
      for (const [seq, method] of [
        [2, 'UPDATE'],
        [3, 'INVITE'],
      ] as const) {
        await new Promise(resolve => setTimeout(resolve, 650));
        one.phone.inDialog(method, one.invite, one.ok, seq, sign, method === 'INVITE' ? SDP : '');
        const granted = await one.phone.expect(/ 200 /);
        assert.equal(granted.get('Session-Expires'), '1;refresher=uac');
        assert.equal(granted.get('Require'), 'timer');
        if (method === 'INVITE') one.phone.inDialog('ACK', one.invite, one.ok, seq);
      }
      await end(one, 4);
    },
    'the server refreshes a call it made, when the callee asks for it': async () => {
      const phone = await line.rig.phone();
      const { call, invite } = await line.calling(phone, { 'Session-Expires': '1;refresher=uac', Require: 'timer' });
      const refresh = await phone.expect(/^INVITE/);
      assert.equal(refresh.get('To').replace(/;tag=.*/, ''), invite.get('To'));
      phone.answer(refresh, '200 OK', { 'Session-Expires': '1;refresher=uac' }, SDP);
      await phone.expect(/^ACK/);
      await line.hangUp(phone, call);
    },
    [CARRIED_ON]: async () => {
      const one = await session('60;refresher=uac', '');
      const modified = one.call.modify(SDP);
      const reinvite = await one.phone.expect(/^INVITE/);
      assert.equal(reinvite.get('Session-Expires'), '60;refresher=uas');
      one.phone.answer(reinvite, '200 OK', {}, SDP);
      await modified;
      await one.phone.expect(/^ACK/);
      await end(one, 2);
    },
  };

  before(async () => {
    line = await Line.open(SECOND);
    line.handle = (request, response) => {
      const granted = request.get('X-Grant');
      const headers = granted ? { 'Session-Expires': granted } : {};
      void line.app
        .createUAS(request, response, { localSdp: SDP, headers })
        .then(call => calls.set(request.get('Call-ID'), call));
    };
    if (ownServers()) return;
    for (const [title, run] of Object.entries(scenarios)) timed.set(title, run());
    await Promise.allSettled(timed.values());
  });
  after(() => line.close());

  for (const title of Object.keys(scenarios)) {
    const why = title === CARRIED_ON ? 'drachtio-server leaves Session-Expires to the application' : WHY;
    engineOnly(why, title, async () => timed.get(title));
  }

  it('a caller who names no refresher and an application that says nothing have no session', async () => {
    const one = await session('1', '');
    assert.equal(one.ok.get('Session-Expires'), '');
    await end(one, 2);
  });
});

describe('drachtio: the shortest session', () => {
  it('a refresh below the shortest session gets 422 with Min-SE; a first INVITE gets the shortest', async () => {
    const strict = await Line.open();
    const phone = await strict.rig.phone();
    const sign = { Supported: 'timer', 'Session-Expires': '30;refresher=uac' };
    const { invite, ok } = await strict.called(phone, sign);
    assert.equal(ok.get('Session-Expires'), '90;refresher=uac');
    const reinvite = phone.inDialog('INVITE', invite, ok, 2, sign, SDP);
    const refused = await phone.expect(/ 422 /);
    assert.equal(refused.get('Min-SE'), '90');
    phone.companion('ACK', reinvite, refused.get('To'));
    phone.inDialog('UPDATE', invite, ok, 3, sign);
    assert.equal((await phone.expect(/ 422 /)).get('CSeq'), '3 UPDATE');
    await strict.close();
  });
});

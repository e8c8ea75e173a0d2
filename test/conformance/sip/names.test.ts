import { strict as assert } from 'node:assert';
import { NameServer } from '../../support/name-server.ts';
import { SDP, type Heard, type Peer } from '../drachtio/peer.ts';
import { Rig, SHORT, type Call, type Client, type Request } from '../drachtio/rig.ts';
import { engineSuite } from '../../support/engine-only.ts';

/** RFC 3263 4.3, seen by an application. */
engineSuite('it brings a name server of its own', 'sip: servers behind a name', () => {
  let names: NameServer;
  let rig: Rig;
  let app: Client;
  let count = 0;

  before(async () => {
    names = await NameServer.start();
    rig = await Rig.start({ timers: SHORT, nameServers: [names.address] });
    app = await rig.app();
  });
  after(async () => {
    await rig.close();
    names.close();
  });

  /** A new name whose SRV records lead to these ports, in this order. */
  function nameOf(...ports: number[]): string {
    const name = `carrier${++count}.example`;
    const records = ports.map((port, at) => ({ priority: at, weight: 1, port, target: `edge.${name}` }));
    names.tell(`_sip._udp.${name}`, ...records.map(one => ({ type: 'SRV' as const, ...one })));
    names.tell(`edge.${name}`, { type: 'A', address: '127.0.0.1' });
    return name;
  }

  const branchOf = (heard: Heard): string => /branch=([^;]+)/.exec(heard.get('Via'))?.[1] ?? '';

  const failure = (call: Promise<unknown>): Promise<{ status?: number; reason?: string }> =>
    call.then(
      () => ({ status: 200 }),
      (error: unknown) => error as { status?: number; reason?: string },
    );

  async function hangUp(phone: Peer, call: Call): Promise<void> {
    const gone = call.destroy();
    phone.answer(await phone.expect(/^BYE/), '200 OK');
    await gone;
  }

  const dial = (name: string, hooks: object = {}) => app.createUAC(`sip:bob@${name}`, { localSdp: SDP }, hooks);

  it('the next one is rung when the first says nothing, with a branch of its own, and the call stands there', async () => {
    const [dead, alive] = [await rig.phone(), await rig.phone()];
    const name = nameOf(dead.port, alive.port);
    const call = dial(name);
    const invite = await alive.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE sip:bob@${name} SIP/2.0`);
    const tried = await dead.expect(/^INVITE/);
    assert.notEqual(branchOf(tried), branchOf(invite));
    assert.equal(tried.get('Call-ID'), invite.get('Call-ID'));
    alive.answer(invite, '200 OK', {}, SDP);
    const standing = await call;
    await alive.expect(/^ACK/);
    await hangUp(alive, standing);

    alive.heard.splice(0); // on a busy machine the INVITE may have come twice
    const again = failure(dial(name));
    alive.answer(await alive.expect(/^INVITE/), '486 Busy Here');
    assert.equal((await again).status, 486, 'the one that answered is asked first now');
  });

  it('one that answers 503 is left with an ACK for the next, and another failure is the answer', async () => {
    const [full, busy, spare] = [await rig.phone(), await rig.phone(), await rig.phone()];
    const call = failure(dial(nameOf(full.port, busy.port, spare.port)));
    const refused = await full.expect(/^INVITE/);
    full.answer(refused, '503 Service Unavailable');
    assert.equal(branchOf(await full.expect(/^ACK/)), branchOf(refused));
    busy.answer(await busy.expect(/^INVITE/), '486 Busy Here');
    assert.equal((await call).status, 486);
    assert.deepEqual(spare.heard, []);
  });

  it('one whose port is closed is left at once, and the last failure is told when all fail', async () => {
    const [closed, full] = [await rig.phone(), await rig.phone()];
    const port = closed.port;
    closed.close();
    const call = failure(dial(nameOf(port, full.port)));
    full.answer(await full.expect(/^INVITE/), '503 Service Unavailable');
    assert.equal((await call).status, 503);
  });

  it('when nobody answers the call ends with 408', async () => {
    const phones = [await rig.phone(), await rig.phone()];
    assert.equal((await failure(dial(nameOf(...phones.map(one => one.port))))).status, 408);
    await rig.comesToHold({ dialogs: 0, transactions: 0 });
  });

  it('one that rings after it was given up is cancelled', async () => {
    const [slow, quick] = [await rig.phone(), await rig.phone()];
    const call = dial(nameOf(slow.port, quick.port));
    const invite = await quick.expect(/^INVITE/);
    const late = await slow.expect(/^INVITE/);
    slow.answer(late, '180 Ringing');
    const cancel = await slow.expect(/^CANCEL/);
    assert.equal(branchOf(cancel), branchOf(late));
    slow.answer(cancel, '200 OK');
    slow.answer(late, '487 Request Terminated');
    await slow.expect(/^ACK/);
    quick.answer(invite, '200 OK', {}, SDP);
    await hangUp(quick, await call);
  });

  it('one that answers after it was given up has the call, and the other is cancelled', async () => {
    const [slow, ringing] = [await rig.phone(), await rig.phone()];
    const call = dial(nameOf(slow.port, ringing.port));
    const other = await ringing.expect(/^INVITE/);
    ringing.answer(other, '180 Ringing');
    slow.answer(await slow.expect(/^INVITE/), '200 OK', {}, SDP);
    const standing = await call;
    await slow.expect(/^ACK/);
    ringing.answer(await ringing.expect(/^CANCEL/), '200 OK');
    ringing.answer(other, '487 Request Terminated');
    await ringing.expect(/^ACK/);
    await hangUp(slow, standing);
  });

  it('when both answer, the first has the call, and the second hears ACK and BYE', async () => {
    const [slow, quick] = [await rig.phone(), await rig.phone()];
    const call = dial(nameOf(slow.port, quick.port));
    const [second, first] = [await quick.expect(/^INVITE/), await slow.expect(/^INVITE/)];
    quick.answer(second, '200 OK', {}, SDP);
    const standing = await call;
    slow.answer(first, '200 OK', {}, SDP);
    await slow.expect(/^ACK/);
    slow.answer(await slow.expect(/^BYE/), '200 OK');
    await hangUp(quick, standing);
  });

  it('OPTIONS goes to the next one as well', async () => {
    const [dead, alive] = [await rig.phone(), await rig.phone()];
    const sent = await app.request(`sip:${nameOf(dead.port, alive.port)}`, { method: 'OPTIONS' });
    const answered = new Promise<{ status: number }>(resolve => sent.once('response', resolve));
    alive.answer(await alive.expect(/^OPTIONS/), '200 OK');
    assert.equal((await answered).status, 200);
  });

  it('a call to a name that does not exist fails at once with 503, and says which name it was', async () => {
    const { status, reason } = await failure(dial('sip.nowhere.example'));
    assert.deepEqual([status, reason], [503, 'cannot resolve sip.nowhere.example: there is no such name']);
  });

  it('a call given up while its name is looked up is never sent', async () => {
    const phone = await rig.phone();
    const name = nameOf(phone.port);
    names.silence();
    let call: Promise<{ status?: number }> | undefined;
    const request = await new Promise<Request>(resolve => {
      const cbRequest = (_error: unknown, sent: Request) => resolve(sent);
      call = failure(dial(name, { cbRequest }));
    });
    request.cancel();
    names.speak();
    assert.equal((await call)?.status, 503);
    await rig.comesToHold({ dialogs: 0 });
    assert.deepEqual(phone.heard, []);
  });
});

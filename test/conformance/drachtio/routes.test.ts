import { strict as assert } from 'node:assert';
import { engineOnly, onEngine } from '../../support/engine-only.ts';
import { Line } from './line.ts';
import { SDP, type Heard, type TcpPeer, type UdpPeer } from './peer.ts';
import { next, type Request, type Response } from './rig.ts';

const STRICT = 'drachtio-server sends a request that begins no dialog past a router without lr';
const STRICT_BEFORE =
  'drachtio-server takes what comes with its own record in the URI for a new request, and answers 503';

describe('drachtio: the way of requests (RFC 3261 8.1.2, 12.2.1.1, 16.4)', () => {
  let line: Line;
  let seen: Request | undefined;
  let phone: UdpPeer;
  let router: UdpPeer;

  before(async () => {
    line = await Line.open({}, client =>
      client.use('message', (request, response) => {
        seen = request;
        response.send(200);
      }),
    );
  });
  after(() => line.close());
  beforeEach(async () => {
    [phone, router] = [await line.rig.phone(), await line.rig.phone()];
    line.handle = (request, response) => line.answer(request, response);
  });

  const bob = 'sip:bob@192.0.2.77:5070';
  /** Without a To of one's own drachtio-server takes the whole URI for it, headers and all, and fails. */
  const named = { localSdp: SDP, headers: { To: '<sip:bob@192.0.2.77>' } };
  const at = (peer: UdpPeer, params = ''): string => `<sip:127.0.0.1:${peer.port}${params}>`;
  const answered = (peer: UdpPeer, invite: Heard): void =>
    peer.answer(invite, '200 OK', { Contact: `<sip:bob@127.0.0.1:${phone.port}>` }, SDP);

  it('a Route that the application puts into the URI is followed, and the URI stays what it was', async () => {
    const routes = `${at(router, ';lr')}, <sip:second.example;lr>`;
    const call = line.app.createUAC(`${bob}?Route=${encodeURIComponent(routes)}`, named);
    const invite = await router.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE ${bob} SIP/2.0`);
    assert.equal(invite.all('Route').join(', '), routes);
    answered(router, invite);
    const standing = await call;
    assert.equal((await phone.expect(/^ACK/)).get('Route'), '');
    await line.hangUp(phone, standing);
  });

  engineOnly(STRICT, 'a strict router in that Route takes the place of the URI', async () => {
    const routes = `${at(router)}, <sip:second.example;lr>`;
    const call = line.app.createUAC(`${bob}?Route=${encodeURIComponent(routes)}`, named);
    const invite = await router.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE sip:127.0.0.1:${router.port} SIP/2.0`);
    assert.equal(invite.all('Route').join(', '), `<sip:second.example;lr>, <${bob}>`);
    answered(router, invite);
    const standing = await call;
    await phone.expect(/^ACK/);
    await line.hangUp(phone, standing);
  });

  it('an outbound proxy gets what begins the call, and what follows goes to the Contact', async () => {
    const call = line.app.createUAC(bob, { localSdp: SDP, proxy: `sip:127.0.0.1:${router.port}` });
    const invite = await router.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE ${bob} SIP/2.0`);
    answered(router, invite);
    const standing = await call;
    assert.equal((await phone.expect(/^ACK/)).start, `ACK sip:bob@127.0.0.1:${phone.port} SIP/2.0`);
    await line.hangUp(phone, standing);
  });

  it('a strict router that the callee has come by gets the URI in requests inside the call', async () => {
    const call = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    // drachtio-server writes it so, too, but sends it to the next loose router: here both are one.
    const far = at(router, ';lr');
    const recorded = `${far}, ${at(router)}`;
    phone.answer(await phone.expect(/^INVITE/), '200 OK', { 'Record-Route': recorded, Contact: `<${bob}>` }, SDP);
    const standing = await call;
    const ack = await router.expect(/^ACK/);
    assert.equal(ack.start, `ACK sip:127.0.0.1:${router.port} SIP/2.0`);
    assert.equal(ack.all('Route').join(', '), `${far}, <${bob}>`);
    await line.hangUp(router, standing);
  });

  it('a double Record-Route of the caller comes back in the 200, and is followed in its order', async () => {
    const recorded = `${at(router, ';lr;x=1')}, ${at(router, ';lr;x=2')}`;
    const call = await line.called(phone, { 'Record-Route': recorded, Contact: `<${bob}>` });
    assert.equal(call.ok.all('Record-Route').join(', '), recorded);
    const gone = call.call.destroy();
    const bye = await router.expect(/^BYE/);
    assert.equal(bye.start, `BYE ${bob} SIP/2.0`);
    assert.equal(bye.all('Route').join(', '), recorded);
    router.answer(bye, '200 OK');
    await gone;
  });

  it('a call whose Route names us is ours', async () => {
    const { call } = await line.called(phone, { Route: `<sip:127.0.0.1:${line.rig.server.port};lr>` });
    await line.hangUp(phone, call);
  });

  /** A proxied call from UDP to TCP up to the answer, and the route of its caller: what was recorded, reversed. */
  const proxied = async (): Promise<{ callee: TcpPeer; target: string; invite: Heard; ok: Heard; Route: string }> => {
    const callee = await line.rig.tcpPhone();
    const target = `sip:bob@127.0.0.1:${callee.port};transport=tcp`;
    callee.request('REGISTER', line.rig.uri());
    line.handle = request => void line.app.proxyRequest(request, target, { remainInDialog: true });
    const invite = phone.request('INVITE', line.rig.uri(), {}, SDP);
    callee.answer(await callee.expect(/^INVITE/), '200 OK', {}, SDP);
    const ok = await phone.expect(/ 200 /);
    const recorded = ok.all('Record-Route').flatMap(line => line.split(', '));
    return { callee, target, invite, ok, Route: recorded.reverse().join(', ') };
  };

  it('a proxied call from UDP to TCP passes us by what we have recorded, all of which we take away', async () => {
    const { callee, invite, ok, Route } = await proxied();
    const here = `<sip:127.0.0.1:${line.rig.server.port}`;
    await onEngine('drachtio-server records the side of the callee alone', () =>
      assert.equal(Route, `${here};lr>, ${here};transport=tcp;lr>`),
    );
    phone.inDialog('ACK', invite, ok, 1, { Route });
    assert.equal((await callee.expect(/^ACK/)).get('Route'), '');
    phone.inDialog('BYE', invite, ok, 2, { Route });
    const bye = await callee.expect(/^BYE/);
    assert.equal(bye.get('Route'), '');
    callee.answer(bye, '200 OK');
    await phone.expect(/ 200 /);
  });

  engineOnly(STRICT_BEFORE, 'a strict router before us puts our record into the URI, and the target last', async () => {
    const { callee, target, invite, ok, Route } = await proxied();
    phone.inDialog('ACK', invite, ok, 1, { Route });
    await callee.expect(/^ACK/);
    const [first = '', ...rest] = Route.split(', ');
    const dialog = { From: invite.get('From'), To: ok.get('To'), 'Call-ID': invite.get('Call-ID') };
    const left = { ...dialog, CSeq: '2 INFO', Route: [...rest, `<${target}>`].join(', ') };
    phone.request('INFO', first.slice(1, -1), left);
    const info = await callee.expect(/^INFO/);
    assert.deepEqual([info.start, info.get('Route')], [`INFO ${target} SIP/2.0`, '']);
    callee.answer(info, '200 OK');
    await phone.expect(/ 200 /);
  });

  engineOnly(STRICT, 'a proxied call to a strict router has its target last', async () => {
    line.handle = request => void line.app.proxyRequest(request, bob).catch(() => undefined);
    phone.request('INVITE', bob, { Route: `<sip:127.0.0.1:${line.rig.server.port};lr>, ${at(router)}` }, SDP);
    const invite = await router.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE sip:127.0.0.1:${router.port} SIP/2.0`);
    assert.equal(invite.all('Route').join(', '), `<${bob}>`);
    router.answer(invite, '486 Busy Here');
    await phone.expect(/ 486 /);
  });

  it('two phones that ring for one call are two early dialogs, and the application sees both', async () => {
    const rings: string[] = [];
    const cbProvisional = (response: Response): void => void rings.push(response.get('To').split('tag=')[1] ?? '');
    const call = line.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }, { cbProvisional });
    const invite = await phone.expect(/^INVITE/);
    for (const tag of ['one', 'two']) phone.answer(invite, '180 Ringing', { To: `${invite.get('To')};tag=${tag}` });
    phone.answer(invite, '200 OK', { To: `${invite.get('To')};tag=one` }, SDP);
    const standing = await call;
    assert.deepEqual(rings, ['one', 'two']);
    assert.match((await phone.expect(/^ACK/)).get('To'), /tag=one$/);
    await line.hangUp(phone, standing);
  });

  it('a MESSAGE reaches the application, and one of the application a phone', async () => {
    phone.request('MESSAGE', line.rig.uri(), { 'Content-Type': 'text/plain' }, 'Grüße');
    await phone.expect(/ 200 /);
    assert.equal(seen?.body, 'Grüße');
    const options = { method: 'MESSAGE', body: 'zurück', headers: { 'Content-Type': 'text/plain' } };
    const sent = await line.app.request(`sip:bob@127.0.0.1:${phone.port}`, options);
    const answer = next(sent, 'response');
    const message = await phone.expect(/^MESSAGE/);
    assert.deepEqual([message.body, message.get('Content-Length')], ['zurück', '7']);
    phone.answer(message, '202 Accepted');
    assert.equal(((await answer)[0] as Response).status, 202);
  });

  it('a REFER of the caller is accepted, and its NOTIFYs reach him in order (RFC 3515)', async () => {
    const { invite, ok, call } = await line.called(phone);
    const referred = next(call, 'refer') as Promise<[Request, Response]>;
    phone.inDialog('REFER', invite, ok, 2, { 'Refer-To': '<sip:carol@127.0.0.1>' });
    const [request, response] = await referred;
    assert.equal(request.get('Refer-To'), '<sip:carol@127.0.0.1>');
    response.send(202);
    await phone.expect(/ 202 /);
    for (const [state, fragment] of [
      ['active', '100 Trying'],
      ['terminated', '200 OK'],
    ]) {
      const headers = { Event: 'refer', 'Subscription-State': state, 'Content-Type': 'message/sipfrag' };
      const notified = call.request({ method: 'NOTIFY', headers, body: `SIP/2.0 ${fragment}\r\n` });
      const notify = await phone.expect(/^NOTIFY/);
      assert.deepEqual([notify.get('Subscription-State'), notify.body], [state, `SIP/2.0 ${fragment}\r\n`]);
      phone.answer(notify, '200 OK');
      assert.equal((await notified).status, 200);
    }
    await line.hangUp(phone, call);
  });
});

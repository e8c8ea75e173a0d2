import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { createHash } from 'node:crypto';
import { SDP, type Heard } from './peer.ts';
import { next, Rig, SHORT, UNANSWERED_MS, type Call, type Client, type Request, type Response } from './rig.ts';

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

describe('drachtio: calls that go out', () => {
  let rig: Rig;
  let app: Client;

  async function start(options: Parameters<typeof Rig.start>[0] = {}): Promise<void> {
    rig = await Rig.start(options);
    app = await rig.app();
  }
  afterEach(() => rig.close());

  const failure = (call: Promise<Call>): Promise<number> =>
    call.then(
      () => 200,
      (error: { status?: number }) => error.status ?? 0,
    );

  it('a callee sees complete headers, and the call stands after 180, 200 and our ACK', async () => {
    await start();
    const phone = await rig.phone();
    const rings: number[] = [];
    const options = { localSdp: SDP, callingNumber: '15551212', callingName: 'Ann' };
    const cbProvisional = (response: Response): void => void rings.push(response.status);
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, options, { cbProvisional });
    const invite = await phone.expect(/^INVITE/);
    assert.match(invite.get('From'), new RegExp(`^"Ann" <sip:15551212@127.0.0.1:${rig.server.port}>;tag=`));
    assert.equal(invite.get('Contact'), `"Ann" <sip:15551212@127.0.0.1:${rig.server.port}>`);
    assert.equal(invite.get('To'), `<sip:bob@127.0.0.1:${phone.port}>`);
    assert.equal(invite.get('Max-Forwards'), '70');
    assert.equal(invite.get('Content-Type'), 'application/sdp');
    assert.equal(invite.body, SDP);
    phone.answer(invite, '100 Trying');
    phone.answer(invite, '180 Ringing');
    phone.answer(invite, '200 OK', {}, SDP);
    const dialog = await call;
    assert.deepEqual(rings, [180]);
    assert.equal(dialog.id, `${invite.get('Call-ID')};from-tag=${/tag=(.*)/.exec(invite.get('From'))?.[1]}`);
    const ack = await phone.expect(/^ACK/);
    assert.equal(ack.start, `ACK sip:alice@127.0.0.1:${phone.port} SIP/2.0`);
    rig.holds({ dialogs: 1 });
    const gone = dialog.destroy();
    const bye = await phone.expect(/^BYE/);
    phone.answer(bye, '200 OK');
    await gone;
  });

  it('a callee who hangs up ends the call of the application', async () => {
    await start();
    const phone = await rig.phone();
    const { call, invite, ack } = await answered(phone);
    const destroyed = next(call, 'destroy');
    const dialog = { From: ack.get('To'), To: ack.get('From'), 'Call-ID': ack.get('Call-ID'), CSeq: '1 BYE' };
    phone.request('BYE', /<([^>]+)>/.exec(invite.get('Contact'))?.[1] ?? '', dialog);
    await phone.expect(/ 200 /);
    await destroyed;
    rig.holds({ dialogs: 0 });
  });

  async function answered(
    phone: Awaited<ReturnType<Rig['phone']>>,
  ): Promise<{ call: Call; invite: Heard; ack: Heard }> {
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    const invite = await phone.expect(/^INVITE/);
    phone.answer(invite, '200 OK', {}, SDP);
    return { call: await call, invite, ack: await phone.expect(/^ACK/) };
  }

  it('a busy callee is acknowledged by the server and reported as 486', async () => {
    await start();
    const phone = await rig.phone();
    const status = failure(app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }));
    const invite = await phone.expect(/^INVITE/);
    phone.answer(invite, '486 Busy Here');
    const ack = await phone.expect(/^ACK/);
    assert.equal(ack.get('Via'), invite.get('Via'));
    assert.equal(await status, 486);
    rig.holds({ dialogs: 0 });
  });

  it('a repeated 200 gets the ACK of the application again without asking it', async () => {
    await start();
    const phone = await rig.phone();
    const { invite, ack } = await answered(phone);
    phone.answer(invite, '200 OK', {}, SDP);
    assert.equal((await phone.expect(/^ACK/)).text, ack.text);
  });

  engineOnly(
    'drachtio-server answers for the first phone only',
    'a second phone that also answers gets an ACK and a BYE of its own',
    async () => {
      await start();
      const phone = await rig.phone();
      const { invite } = await answered(phone);
      phone.answer(invite, '200 OK', { To: `${invite.get('To')};tag=other` }, SDP);
      assert.match((await phone.expect(/^ACK/)).get('To'), /tag=other$/);
      const bye = await phone.expect(/^BYE/);
      assert.match(bye.get('To'), /tag=other$/);
      phone.answer(bye, '200 OK');
      rig.holds({ dialogs: 1 });
    },
  );

  it('a challenge is answered by the library with the same Call-ID and From and the next CSeq', async () => {
    await start();
    const phone = await rig.phone();
    const auth = { username: 'u', password: 'p' };
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP, auth });
    const first = await phone.expect(/^INVITE/);
    const challenge = 'Digest realm="r", nonce="n1", algorithm=MD5, qop="auth"';
    phone.answer(first, '407 Proxy Authentication Required', { 'Proxy-Authenticate': challenge });
    await phone.expect(/^ACK/);
    const second = await phone.expect(/^INVITE/);
    assert.equal(second.get('Call-ID'), first.get('Call-ID'));
    assert.equal(second.get('From'), first.get('From'));
    assert.equal(parseInt(second.get('CSeq')), parseInt(first.get('CSeq')) + 1);
    const given = Object.fromEntries(
      [...second.get('Proxy-Authorization').matchAll(/(\w+)="?([^",]+)"?/g)].map(([, name, value]) => [name, value]),
    ) as Record<string, string>;
    const a2 = md5(`INVITE:${given['uri']}`);
    const expected = md5(`${md5('u:r:p')}:n1:${given['nc']}:${given['cnonce']}:auth:${a2}`);
    assert.equal(given['response'], expected);
    phone.answer(second, '200 OK', {}, SDP);
    await call;
    await phone.expect(/^ACK/);
  });

  it('a call given up while it rings is cancelled with the reason of the application', async () => {
    await start();
    const phone = await rig.phone();
    const cbRequest = (_error: unknown, request: Request): void => void app.emit('sent', request);
    const sent = next(app, 'sent');
    const status = failure(app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }, { cbRequest }));
    const invite = await phone.expect(/^INVITE/);
    const [request] = (await sent) as [Request];
    phone.answer(invite, '180 Ringing');
    request.cancel();
    const cancel = await phone.expect(/^CANCEL/);
    assert.equal(cancel.get('Via'), invite.get('Via'));
    phone.answer(cancel, '200 OK');
    phone.answer(invite, '487 Request Terminated');
    await phone.expect(/^ACK/);
    assert.equal(await status, 487);
  });

  it('a call given up before the callee has said anything is cancelled at its first word', async () => {
    await start();
    const phone = await rig.phone();
    const cbRequest = (_error: unknown, request: Request): void => request.cancel();
    const status = failure(app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }, { cbRequest }));
    const invite = await phone.expect(/^INVITE/);
    assert.equal(phone.heard.length, 0);
    phone.answer(invite, '100 Trying');
    const cancel = await phone.expect(/^CANCEL/);
    phone.answer(cancel, '200 OK');
    phone.answer(invite, '487 Request Terminated');
    await phone.expect(/^ACK/);
    assert.equal(await status, 487);
  });

  it('a callee who answers as we give up is acknowledged and hung up at once', async () => {
    await start();
    const phone = await rig.phone();
    const given = new Promise<void>(resolve => app.once('given up', resolve));
    const cbRequest = (_error: unknown, request: Request): void => request.cancel(() => app.emit('given up'));
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }, { cbRequest });
    const invite = await phone.expect(/^INVITE/);
    await given;
    phone.answer(invite, '200 OK', {}, SDP);
    await call;
    await phone.expect(/^ACK/);
    const bye = await phone.expect(/^BYE/);
    assert.match(bye.get('Reason'), /cancel race/);
    phone.answer(bye, '200 OK');
    rig.holds({ dialogs: 0 });
  });

  it('a silent callee hears the INVITE again and again, then the application gets 408', async function () {
    this.timeout(UNANSWERED_MS + 5000);
    await start({ timers: SHORT });
    const phone = await rig.phone();
    const status = failure(app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }));
    const first = await phone.expect(/^INVITE/);
    assert.equal((await phone.expect(/^INVITE/)).text, first.text);
    await phone.expect(/^INVITE/);
    assert.equal(await status, 408);
    rig.holds({ dialogs: 0 });
  });

  for (const transport of ['udp', 'tcp']) {
    it(`a ${transport} port where nobody listens gives 503 long before the timeout`, async () => {
      await start();
      const phone = await rig.phone();
      const { port } = phone;
      phone.close();
      const began = Date.now();
      const status = failure(app.createUAC(`sip:bob@127.0.0.1:${port};transport=${transport}`, { localSdp: SDP }));
      assert.equal(await status, 503);
      assert(Date.now() - began < 2000);
    });
  }

  engineOnly(
    'drachtio-server leaves calls of a lost application alone',
    'a callee who is ringing when the application is lost is cancelled',
    async () => {
      await start({ orphanGraceMs: 50 });
      const phone = await rig.phone();
      void failure(app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP }));
      const invite = await phone.expect(/^INVITE/);
      phone.answer(invite, '180 Ringing');
      rig.lose(app);
      const cancel = await phone.expect(/^CANCEL/);
      phone.answer(cancel, '200 OK');
      phone.answer(invite, '487 Request Terminated');
      await phone.expect(/^ACK/);
      await new Promise(resolve => setImmediate(resolve));
      rig.holds({ dialogs: 0 });
    },
  );

  it('a call without an offer carries the answer in the ACK', async () => {
    await start();
    const phone = await rig.phone();
    const offered = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { noAck: true }) as unknown as Promise<{
      sdp: string;
      ack: (sdp: string) => Promise<Call>;
    }>;
    const invite = await phone.expect(/^INVITE/);
    assert.equal(invite.get('Content-Length'), '0');
    phone.answer(invite, '200 OK', {}, SDP);
    const { sdp, ack } = await offered;
    assert.equal(sdp, SDP);
    void ack(SDP);
    const sent = await phone.expect(/^ACK/);
    assert.equal(sent.get('Content-Type'), 'application/sdp');
    assert.equal(sent.body, SDP);
  });

  it('requests inside the call follow the Record-Route of the callee, reversed', async () => {
    await start();
    const phone = await rig.phone();
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    const invite = await phone.expect(/^INVITE/);
    const routes = `<sip:127.0.0.1:${phone.port};lr;n=1>, <sip:127.0.0.1:${phone.port};lr;n=2>`;
    phone.answer(invite, '200 OK', { 'Record-Route': routes, Contact: '<sip:bob@192.0.2.9:5070>' }, SDP);
    const dialog = await call;
    await phone.expect(/^ACK sip:bob@192.0.2.9:5070/);
    void dialog.destroy();
    const bye = await phone.expect(/^BYE sip:bob@192.0.2.9:5070/);
    assert.deepEqual(bye.all('Route').join(', '), routes.split(', ').toReversed().join(', '));
    phone.answer(bye, '200 OK');
  });

  it('the way through proxies is given in the URI, whose headers become those of the request, and whose user is written plainly', async () => {
    await start();
    const phone = await rig.phone();
    const route = '<sip:edge.example;lr;ob>, <sip:inner.example:5070;lr>';
    const uri = `sip:bob%23;cic=1@192.0.2.9;x=1`;
    const given = { headers: { Route: '<sip:not.this.way;lr>', To: `<${uri}>` }, proxy: `sip:127.0.0.1:${phone.port}` };
    const asked = `${uri.replace(';cic', '%3Bcic')}?Route=${encodeURIComponent(route)}&X-One=1%3B%202`;
    const status = failure(app.createUAC(asked, { localSdp: SDP, ...given }));
    const invite = await phone.expect(/^INVITE/);
    assert.equal(invite.start, `INVITE ${uri} SIP/2.0`);
    assert.equal(invite.all('Route').join(', '), route);
    assert.equal(invite.get('X-One'), '1; 2');
    phone.answer(invite, '486 Busy Here');
    assert.equal(await status, 486);
    await app.request(asked, { method: 'OPTIONS', ...given });
    const options = await phone.expect(/^OPTIONS/);
    assert.deepEqual([options.start, options.all('Route').join(', ')], [`OPTIONS ${uri} SIP/2.0`, route]);
    phone.answer(options, '200 OK');
  });

  engineOnly(
    'drachtio-server writes what it unescapes',
    'a URI whose headers would begin a line of their own is refused',
    async () => {
      await start();
      const call = app.createUAC('sip:bob@127.0.0.1:9?X-One=1%0D%0AX-Two%3A%202', { localSdp: SDP });
      await assert.rejects(call, /invalid request-uri/);
    },
  );

  it('a callee behind NAT is sent requests where his answer came from', async () => {
    await start();
    const phone = await rig.phone();
    const call = app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    phone.answer(await phone.expect(/^INVITE/), '200 OK', { Contact: '<sip:bob@10.11.12.13:5060>' }, SDP);
    await call;
    const ack = await phone.expect(/^ACK/);
    assert.equal(ack.start, 'ACK sip:bob@10.11.12.13:5060 SIP/2.0');
  });
});

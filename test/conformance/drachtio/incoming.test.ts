import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { SDP, type Heard, type Peer } from './peer.ts';
import { next, Rig, SHORT, UNANSWERED_MS, type Call, type Client, type Request, type Response } from './rig.ts';

describe('drachtio: calls that come in', () => {
  let rig: Rig;
  let app: Client;
  let calls: Call[];
  let handle: (request: Request, response: Response) => void;

  const answer = (request: Request, response: Response): void => {
    void app.createUAS(request, response, { localSdp: SDP }).then(call => {
      calls.push(call);
      app.emit('answered', call);
    });
  };

  async function start(options: Parameters<typeof Rig.start>[0] = {}): Promise<void> {
    calls = [];
    handle = answer;
    rig = await Rig.start(options);
    app = await rig.app(client => client.invite((request, response) => handle(request, response)));
  }

  /** A call up to its ACK, as the caller and as the application see it. */
  async function established(phone: Peer): Promise<{ invite: Heard; ok: Heard; call: Call }> {
    const answered = next(app, 'answered');
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const ok = await phone.expect(/ 200 /);
    await answered;
    const call = calls.at(-1);
    assert(call);
    const acknowledged = next(call, 'ack');
    phone.inDialog('ACK', invite, ok, 1);
    await acknowledged;
    return { invite, ok, call };
  }

  afterEach(() => rig.close());

  it('a caller hears 100 while the application thinks, and a 200 with the To tag, Contact and SDP of our side', async () => {
    await start();
    const phone = await rig.phone();
    const heard: Heard[] = [];
    handle = (request, response) =>
      void phone.expect(/ 100 /).then(trying => heard.push(trying) && answer(request, response));
    const { invite, ok, call } = await established(phone);
    const [trying] = heard;
    assert(trying);
    assert.equal(trying.get('To').includes('tag='), false);
    assert.equal(ok.get('Contact'), `<sip:127.0.0.1:${rig.server.port}>`);
    assert.equal(ok.get('Content-Type'), 'application/sdp');
    assert.equal(ok.body, SDP);
    assert.match(ok.get('Via'), new RegExp(`;rport=${phone.port}`));
    assert.equal(call.id, `${invite.get('Call-ID')};from-tag=${/tag=(.*)/.exec(invite.get('From'))?.[1]}`);
    assert.equal(call.sip.localTag, /tag=(.*)/.exec(ok.get('To'))?.[1]);
    assert.equal(call.remote.sdp, SDP);
  });

  it('the application is told where the call came from and on which address it arrived', async () => {
    await start();
    const phone = await rig.phone();
    const seen = new Promise<Request>(resolve => {
      handle = (request, response) => {
        resolve(request);
        response.send(486);
      };
    });
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const request = await seen;
    assert.equal(request.source_address, '127.0.0.1');
    assert.equal(request.receivedOn, `127.0.0.1:${rig.server.port}`);
    const busy = await phone.expect(/ 486 /);
    phone.companion('ACK', invite, busy.get('To'));
  });

  it('a caller who hangs up ends the call of the application', async () => {
    await start();
    const phone = await rig.phone();
    const { invite, ok, call } = await established(phone);
    const destroyed = next(call, 'destroy');
    phone.inDialog('BYE', invite, ok, 2);
    await destroyed;
    await phone.expect(/ 200 /);
    rig.holds({ dialogs: 0 });
  });

  it('an application that hangs up sends BYE to the Contact of the caller', async () => {
    await start();
    const phone = await rig.phone();
    const { invite, ok, call } = await established(phone);
    const gone = call.destroy({ headers: { 'X-Why': 'done' } });
    const bye = await phone.expect(/^BYE/);
    assert.equal(bye.start, `BYE sip:alice@127.0.0.1:${phone.port} SIP/2.0`);
    assert.equal(bye.get('From'), ok.get('To'));
    assert.equal(bye.get('To'), invite.get('From'));
    assert.equal(bye.get('X-Why'), 'done');
    phone.answer(bye, '200 OK');
    await gone;
    rig.holds({ dialogs: 0 });
  });

  it('a repeated INVITE is answered with the last response and never announced twice', async () => {
    await start();
    const phone = await rig.phone();
    let announced = 0;
    const ringing = new Promise<Response>(resolve => {
      handle = (_request, response) => {
        announced++;
        response.send(180);
        resolve(response);
      };
    });
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const response = await ringing;
    await phone.expect(/ 180 /);
    phone.send(invite.text);
    await phone.expect(/ 180 /);
    assert.equal(announced, 1);
    response.send(603);
    phone.companion('ACK', invite, (await phone.expect(/ 603 /)).get('To'));
  });

  it('a refusal of a call that rang is repeated over UDP until its ACK, which the application does not see', async () => {
    await start({ timers: SHORT });
    const phone = await rig.phone();
    handle = (_request, response) => {
      for (const status of [180, 486]) response.send(status);
    };
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const busy = await phone.expect(/ 486 /);
    assert.equal((await phone.expect(/ 486 /)).text, busy.text);
    phone.companion('ACK', invite, busy.get('To'));
    await rig.comesToHold({ dialogs: 0 });
  });

  it('a caller who gives up before any response gets 200 and 487, and the application hears cancel', async () => {
    await start();
    const phone = await rig.phone();
    const cancelled = new Promise<void>(resolve => {
      handle = request => {
        request.once('cancel', () => resolve());
        phone.companion('CANCEL', invite);
      };
    });
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    await cancelled;
    assert.equal((await phone.expect(/ 200 /)).get('CSeq'), '1 CANCEL');
    const terminated = await phone.expect(/ 487 /);
    assert.equal(terminated.get('CSeq'), '1 INVITE');
    phone.companion('ACK', invite, terminated.get('To'));
    rig.holds({ dialogs: 0 });
  });

  it('a caller who gives up while it rings gets 487 with the tag of the 180', async () => {
    await start();
    const phone = await rig.phone();
    const cancelled = new Promise<void>(resolve => {
      handle = (request, response) => {
        request.once('cancel', () => resolve());
        response.send(180);
      };
    });
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const ringing = await phone.expect(/ 180 /);
    phone.companion('CANCEL', invite);
    await cancelled;
    const terminated = await phone.expect(/ 487 /);
    assert.equal(terminated.get('To'), ringing.get('To'));
    phone.companion('ACK', invite, terminated.get('To'));
  });

  it('a CANCEL that comes after the 200 gets 481 and the call stands', async () => {
    await start();
    const phone = await rig.phone();
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    const ok = await phone.expect(/ 200 /);
    phone.companion('CANCEL', invite);
    await phone.expect(/ 481 /);
    phone.inDialog('ACK', invite, ok, 1);
    rig.holds({ dialogs: 1 });
  });

  it('a 200 without ACK is repeated, then the server hangs up and says so', async function () {
    this.timeout(UNANSWERED_MS + 5000);
    await start({ timers: SHORT });
    const phone = await rig.phone();
    const answered = next(app, 'answered');
    phone.request('INVITE', rig.uri(), {}, SDP);
    await answered;
    const [call] = calls;
    assert(call);
    const destroyed = next(call, 'destroy', UNANSWERED_MS);
    for (let i = 0; i < 4; i++) await phone.expect(/ 200 /, UNANSWERED_MS);
    const bye = await phone.expect(/^BYE/, UNANSWERED_MS);
    assert.equal(bye.get('Reason'), 'SIP;cause=200;text="ACK timeout"');
    const [, reason] = await destroyed;
    assert.equal(reason, 'ACK timeout');
    phone.answer(bye, '200 OK');
    rig.holds({ dialogs: 0 });
  });

  engineOnly(
    'drachtio-server leaves the caller waiting',
    'a caller whom the application never answers gets 480',
    async () => {
      await start({ timers: SHORT });
      const phone = await rig.phone();
      handle = () => undefined;
      const invite = phone.request('INVITE', rig.uri(), {}, SDP);
      phone.companion('ACK', invite, (await phone.expect(/ 480 /, 5000)).get('To'));
      rig.holds({ dialogs: 0 });
    },
  );

  it('a re-INVITE of the caller is answered 100 at once and with the SDP of the application', async () => {
    await start();
    const phone = await rig.phone();
    const { invite, ok } = await established(phone);
    phone.heard.splice(0);
    phone.inDialog('INVITE', invite, ok, 2, {}, SDP.replace('sendrecv', 'sendonly'));
    await phone.expect(/ 100 /);
    const again = await phone.expect(/ 200 /);
    assert.equal(again.get('CSeq'), '2 INVITE');
    assert.equal(again.get('To'), ok.get('To'));
    phone.inDialog('ACK', invite, ok, 2);
  });

  it('a re-INVITE of the application reaches the caller and its 200 is acknowledged', async () => {
    await start();
    const phone = await rig.phone();
    const { call } = await established(phone);
    const modified = call.modify(SDP);
    const reinvite = await phone.expect(/^INVITE/);
    assert.equal(reinvite.get('Contact'), `<sip:127.0.0.1:${rig.server.port}>`);
    phone.answer(reinvite, '200 OK', {}, SDP);
    assert.equal(await modified, SDP);
    const ack = await phone.expect(/^ACK/);
    assert.equal(parseInt(ack.get('CSeq')), parseInt(reinvite.get('CSeq')));
  });

  it('INFO travels both ways inside a call, bodies counted in bytes', async () => {
    await start();
    const phone = await rig.phone();
    const { invite, ok, call } = await established(phone);
    call.on('info', (_request: Request, response: Response) => response.send(200, { headers: { 'X-Got': 'it' } }));
    phone.inDialog('INFO', invite, ok, 2, { 'Content-Type': 'text/plain' }, 'hé');
    assert.equal((await phone.expect(/ 200 /)).get('X-Got'), 'it');
    const sent = call.request({ method: 'INFO', headers: { 'Content-Type': 'text/plain' }, body: 'hé' });
    const info = await phone.expect(/^INFO/);
    assert.equal(info.get('Content-Length'), '3');
    assert.equal(info.body, 'hé');
    phone.answer(info, '202 Accepted');
    assert.equal((await sent).status, 202);
  });

  engineOnly(
    'drachtio-server leaves calls of a lost application alone',
    'a call whose application is lost goes on for the grace time and then gets a BYE',
    async () => {
      await start({ orphanGraceMs: 50 });
      const phone = await rig.phone();
      await established(phone);
      rig.lose(app);
      const bye = await phone.expect(/^BYE/);
      assert.match(bye.get('Reason'), /Application lost/);
      phone.answer(bye, '200 OK');
      await rig.comesToHold({ dialogs: 0 });
    },
  );

  engineOnly(
    'drachtio-server leaves calls of a lost application alone',
    'a ringing call whose application is lost is answered 480',
    async () => {
      await start({ orphanGraceMs: 50 });
      const phone = await rig.phone();
      handle = (_request, response) => response.send(180);
      const invite = phone.request('INVITE', rig.uri(), {}, SDP);
      await phone.expect(/ 180 /);
      rig.lose(app);
      phone.companion('ACK', invite, (await phone.expect(/ 480 /)).get('To'));
      rig.holds({ dialogs: 0 });
    },
  );

  it('a call without an application is refused with 503', async () => {
    await start();
    rig.lose(app);
    const phone = await rig.phone();
    await settled(async () => {
      phone.request('OPTIONS', rig.uri()); // an application that is still counted says something else, or nothing
      return (await phone.expect(/ \d{3} /, 200).catch(() => undefined))?.start.includes(' 503 ') ?? false;
    });
    const invite = phone.request('INVITE', rig.uri(), {}, SDP);
    phone.companion('ACK', invite, (await phone.expect(/ 503 /)).get('To'));
  });

  it('two applications take calls in turn, and each call stays with its own', async () => {
    await start();
    const taken: string[] = [];
    handle = (_request, response) => {
      taken.push('first');
      response.send(486);
    };
    await rig.app(client =>
      client.invite((_request, response) => {
        taken.push('second');
        response.send(486);
      }),
    );
    const phone = await rig.phone();
    for (let i = 0; i < 4; i++) {
      const invite = phone.request('INVITE', rig.uri(), {}, SDP);
      phone.companion('ACK', invite, (await phone.expect(/ 486 /)).get('To'));
    }
    assert.deepEqual(taken.toSorted(), ['first', 'first', 'second', 'second']);
  });

  it('a BYE for a call nobody knows gets 481', async () => {
    await start();
    const phone = await rig.phone();
    phone.request('BYE', rig.uri(), { To: `<${rig.uri()}>;tag=gone` });
    await phone.expect(/ 481 /);
  });

  it('a whole call over TCP uses the one connection of the phone both ways, and keep-alives are answered', async () => {
    await start();
    const phone = await rig.tcpPhone();
    const { ok, call } = await established(phone);
    assert.equal(ok.get('Contact'), `<sip:127.0.0.1:${rig.server.port};transport=tcp>`);
    phone.send('\r\n\r\n');
    await settled(() => phone.pongs === 1);
    const gone = call.destroy();
    const bye = await phone.expect(/^BYE/);
    assert.match(bye.get('Via'), /^SIP\/2.0\/TCP/);
    phone.answer(bye, '200 OK');
    await gone;
    rig.holds({ dialogs: 0 });
    rig.holds({ connections: 1 });
  });
});

/** Waits for something that shows no event of its own. */
async function settled(done: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + 3000;
  while (!(await done())) {
    assert(Date.now() < until, 'did not settle');
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

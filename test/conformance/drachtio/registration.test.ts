import { strict as assert } from 'node:assert';
import { engineOnly } from '../../support/engine-only.ts';
import { connect } from 'node:net';
import { once } from 'node:events';
import { SDP } from './peer.ts';
import { next, Rig, SHORT, type Request, type Response } from './rig.ts';

describe('drachtio: registrations and requests outside calls', () => {
  let rig: Rig;
  afterEach(() => rig.close());

  const registrar = (request: Request, response: Response): void => {
    if (request.get('Authorization')) response.send(200, { headers: { Contact: request.get('Contact'), Expires: 60 } });
    else response.send(401, { headers: { 'WWW-Authenticate': 'Digest realm="r", nonce="n", algorithm=MD5' } });
  };

  it('a phone is challenged, registers, and is told so', async () => {
    rig = await Rig.start();
    await rig.app(app => app.register(registrar));
    const phone = await rig.phone();
    phone.request('REGISTER', 'sip:127.0.0.1');
    assert.match((await phone.expect(/ 401 /)).get('WWW-Authenticate'), /nonce="n"/);
    phone.request('REGISTER', 'sip:127.0.0.1', { Authorization: 'Digest username="1001"', CSeq: '2 REGISTER' });
    const ok = await phone.expect(/ 200 /);
    assert.match(ok.get('To'), /;tag=/);
    assert.equal(ok.get('Contact'), phone.contact());
  });

  it('a phone that registered over TCP is called over the same connection', async () => {
    rig = await Rig.start();
    const app = await rig.app(client => client.register(registrar));
    const phone = await rig.tcpPhone();
    const Contact = '<sip:1001@phone.invalid;transport=tcp>';
    phone.request('REGISTER', 'sip:127.0.0.1', { Authorization: 'Digest x="y"', Contact });
    await phone.expect(/ 200 /);
    const call = app.createUAC('sip:1001@phone.invalid;transport=tcp', { localSdp: SDP });
    const invite = await phone.expect(/^INVITE/);
    phone.answer(invite, '200 OK', { Contact }, SDP);
    await call;
    await phone.expect(/^ACK/);
    rig.holds({ connections: 1 });
  });

  it('OPTIONS is answered by the application, and by 503 when there is none', async () => {
    rig = await Rig.start();
    const phone = await rig.phone();
    phone.request('OPTIONS', rig.uri());
    await phone.expect(/ 503 /);
    await rig.app(app => app.options((_request, response) => response.send(200, { headers: { Allow: 'INVITE' } })));
    phone.request('OPTIONS', rig.uri());
    assert.equal((await phone.expect(/ 200 /)).get('Allow'), 'INVITE');
  });

  it('a request of the application is answered, and repeated until it is', async () => {
    rig = await Rig.start({ timers: SHORT });
    const app = await rig.app();
    const phone = await rig.phone();
    const request = await app.request(`sip:127.0.0.1:${phone.port}`, { method: 'OPTIONS' });
    const response = next(request, 'response');
    const first = await phone.expect(/^OPTIONS/);
    assert.equal((await phone.expect(/^OPTIONS/)).text, first.text);
    phone.answer(first, '200 OK');
    assert.equal(((await response) as [Response])[0].status, 200);
  });

  const MALFORMED: Record<string, Record<string, string>> = {
    'a CSeq that is no number': { CSeq: 'one INVITE' },
    'a Contact that is empty': { Contact: '' },
  };
  const refused = async (headers: Record<string, string>): Promise<void> => {
    rig = await Rig.start();
    let announced = 0;
    await rig.app(app => app.invite(() => announced++));
    const phone = await rig.phone();
    phone.request('INVITE', rig.uri(), headers, SDP);
    await phone.expect(/ 400 /);
    assert.equal(announced, 0);
  };
  for (const [what, headers] of Object.entries(MALFORMED))
    it(`an INVITE with ${what} is refused with 400 and never announced`, () => refused(headers));

  engineOnly(
    'drachtio-server announces it, although bars part the fields of its protocol',
    'an INVITE with a bar in its Call-ID is refused with 400 and never announced',
    () => refused({ 'Call-ID': 'a|b' }),
  );
});

/** A test of a frame without a length, for which drachtio-server goes on waiting. */
const silently = (title: string, test: Mocha.AsyncFunc): void =>
  engineOnly('drachtio-server waits for more', title, test);

describe('drachtio: the admin connection', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await Rig.start();
  });
  afterEach(() => rig.close());

  const id = '0b3ddf60-c10d-4f38-918b-ca5eddc03b1d';
  const framed = (text: string): string => `${Buffer.byteLength(text)}#${text}`;

  /** Sends raw bytes and collects what comes back until the answer is there or the server closes. */
  async function exchange(chunks: string[], answers: number): Promise<{ text: string; closed: boolean }> {
    const socket = connect(rig.server.adminPort, '127.0.0.1').setNoDelay(true);
    let [text, closed] = ['', false];
    const done = new Promise<void>(resolve => {
      socket.on('data', data => {
        text += data.toString();
        if (text.split('|response|').length > answers) resolve();
      });
      socket.on('close', () => {
        closed = true;
        resolve();
      });
    });
    await once(socket, 'connect');
    for (const chunk of chunks) {
      socket.write(chunk);
      await new Promise(resolve => setImmediate(resolve));
    }
    await done;
    if (!closed && answers === 1) await Promise.race([once(socket, 'close'), new Promise(r => setTimeout(r, 30))]);
    socket.destroy();
    return { text, closed };
  }

  let login: string;
  beforeEach(() => {
    login = framed(`${id}|authenticate|${rig.secret}|`);
  });

  it('a login is answered with the listeners and a version', async () => {
    const { text } = await exchange([login], 1);
    const place = `127.0.0.1:${rig.server.port}`;
    const [, , answer, result, listeners = '', version] = text.split('|');
    assert.deepEqual([answer, result], [id, 'OK']);
    for (const one of [`udp/${place}`, `tcp/${place}`]) assert(listeners.split(',').includes(one), listeners);
    assert.match(version ?? '', /^v\d+\.\d+\.\d+/);
  });

  it('a wrong secret is refused and the connection closed', async () => {
    const { text, closed } = await exchange([framed(`${id}|authenticate|wrong|`)], 1);
    assert.match(text, new RegExp(`\\|response\\|${id}\\|NO\\|incorrect secret$`));
    assert(closed);
  });

  for (const kind of ['ping', 'route|invite', 'sip||\r\nOPTIONS sip:127.0.0.1 SIP/2.0\r\n\r\n']) {
    engineOnly(
      'drachtio-server obeys whoever reaches its port',
      `${kind.slice(0, 5)} before a login is refused`,
      async () => {
        const { text, closed } = await exchange([framed(`${id}|${kind}`)], 1);
        assert.match(text, /\|NO\|not authenticated$/);
        assert(closed);
      },
    );
  }

  it('frames may be split anywhere and joined', async () => {
    const all = login + framed(`${id}|route|invite`) + framed(`${id}|route|invite`) + framed(`${id}|ping`);
    const pieces = [...all].map((_, at) => all.slice(at * 7, at * 7 + 7)).filter(piece => piece !== '');
    const { text } = await exchange(pieces, 4);
    assert.match(text, /\|OK\|pong$/);
  });

  for (const bad of ['abc#', '0#', '#', '99999999#', '\r\n\r\n12#']) {
    const test = bad === '0#' || bad === '#' ? silently : it;
    test(`a stream that is no frame (${JSON.stringify(bad)}) is closed`, async () => {
      const { closed } = await exchange([login, bad], 9);
      assert(closed);
    });
  }

  it('a proxy request for a transaction nobody knows is answered NOK', async () => {
    const { text } = await exchange(
      [login, framed(`${id}|proxy|x|||||||sip:a@b\r\nINVITE sip:a@b SIP/2.0\r\n\r\n`)],
      2,
    );
    assert.match(text, /\|NOK\|Unknown transaction id/);
  });

  engineOnly(
    'drachtio-server closes the connection',
    'a request of 200 KB from the application does not disturb the connection',
    async () => {
      const big = `sip||\r\nMESSAGE sip:x@127.0.0.1:9 SIP/2.0\r\nContent-Type: text/plain\r\n\r\n${'x'.repeat(200_000)}`;
      const { text } = await exchange([login, framed(`${id}|${big}`), framed(`${id}|ping`)], 3);
      assert.match(text, /\|OK\|pong/);
    },
  );

  const send = (start: string, extra = ''): string => framed(`${id}|sip||\r\n${start}\r\n${extra}\r\n`);
  const UNSENDABLE: Record<string, [frame: () => string, reason: RegExp, onlyHere?: string]> = {
    'to a transport that nobody listens on': [
      () => send('INVITE sip:1@127.0.0.1;transport=sctp SIP/2.0'),
      /NOK\|requested protocol\/transport not available/,
    ],
    'to a name without a scheme': [
      () => send('INVITE nonsense SIP/2.0'),
      /NOK\|invalid request-uri: INVITE nonsense/,
      'drachtio-server takes it for a host',
    ],
    'to the server itself': [
      () => send(`INVITE sip:1@127.0.0.1:${rig.server.port} SIP/2.0`),
      /NOK\|can not send request to myself/,
    ],
    'from nobody': [
      () => send('INVITE sip:1@127.0.0.1:9 SIP/2.0', 'From: nobody\r\n'),
      /NOK\|invalid from value/,
      'drachtio-server takes it for a host',
    ],
    'with a body of no kind': [() => send('INFO sip:1@127.0.0.1:9 SIP/2.0', '\r\nhello'), /NOK\|missing content-type/],
    'that answers nobody': [
      () => framed(`${id}|sip|gone|\r\nSIP/2.0 200 OK\r\n\r\n`),
      /NOK\|Response not sent due to unknown transaction/,
    ],
    'that cancels nothing': [
      () => framed(`${id}|sip|gone|\r\nCANCEL sip:1@x SIP/2.0\r\n\r\n`),
      /NOK\|unable to cancel unknown transaction/,
    ],
    'inside a dialog that is gone': [
      () => framed(`${id}|sip||gone\r\nBYE sip:1@x SIP/2.0\r\n\r\n`),
      /NOK\|Server error: unable to find dialog/,
    ],
  };
  for (const [what, [frame, reason, onlyHere]] of Object.entries(UNSENDABLE)) {
    const test = async (): Promise<void> => assert.match((await exchange([login, frame()], 2)).text, reason);
    const title = `a message ${what} is refused with a reason`;
    if (onlyHere) engineOnly(onlyHere, title, test);
    else it(title, test);
  }
});

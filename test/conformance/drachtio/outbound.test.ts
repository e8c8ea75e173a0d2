import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import Srf from 'drachtio-srf';
import { engineOnly } from '../../support/engine-only.ts';
import { SDP, type Heard, type Peer } from './peer.ts';
import { next, Rig, type Call, type Client, type Request, type Response } from './rig.ts';

const WHY = 'it is set up by its configuration file, which tests do not write';

/** What an application that waits to be connected to does as well. */
interface Listening extends Client {
  listen(options: object): TcpServer;
  endSession(holder: unknown): void;
}

const portOf = (server: { address(): AddressInfo | string | null }): number => (server.address() as AddressInfo).port;

describe('drachtio: applications that are connected to', () => {
  let rig: Rig;
  let app: Listening;
  let waiting: TcpServer;
  let web: Server;
  let url: string;
  let phone: Peer;
  /** What the HTTP server was asked, and what it says. */
  let asked: URLSearchParams | undefined;
  let order: unknown;
  const ended: string[] = [];

  before(async () => {
    app = new Srf() as unknown as Listening;
    app.on('error', () => undefined);
    app.invite((request: Request, response: Response) => {
      if (request.uri.includes('refused')) {
        response.send(486, {}, () => app.endSession(response));
        return;
      }
      void app.createUAS(request, response, { localSdp: SDP }).then((call: Call) => {
        call.on('destroy', () => {
          ended.push(call.sip.callId);
          app.endSession(request);
        });
      });
    });
    waiting = app.listen({ host: '127.0.0.1', port: 0, secret: 'cymru' });
    if (!waiting.listening) await once(waiting, 'listening');
    web = createServer((request: IncomingMessage, response) => {
      asked = new URL(request.url ?? '', 'http://localhost').searchParams;
      response.end(typeof order === 'string' ? order : JSON.stringify(order));
    }).listen(0, '127.0.0.1');
    await once(web, 'listening');
    url = `http://127.0.0.1:${portOf(web)}`;
    const direct = `tcp://127.0.0.1:${portOf(waiting)}`;
    rig = await Rig.start({ requestHandlers: { invite: url, message: direct, '*': `${url}/` } });
    phone = await rig.phone();
  });

  after(async () => {
    await rig.close();
    waiting.close();
    web.close();
  });

  async function answerTo(method: string, said: unknown, uri = rig.uri()): Promise<Heard> {
    order = said;
    asked = undefined;
    const sent = phone.request(method, uri, {}, method === 'INVITE' ? SDP : '');
    const heard = await phone.expect(/^SIP\/2\.0 [2-6]/);
    assert.equal(heard.get('Call-ID'), sent.get('Call-ID'));
    if (method === 'INVITE' && !heard.start.includes(' 2')) phone.companion('ACK', sent, heard.get('To'));
    return heard;
  }

  engineOnly(
    WHY,
    'the server asks where a call goes, connects there, and the call ends with the connection',
    async () => {
      order = { action: 'route', data: { uri: `127.0.0.1:${portOf(waiting)}` } };
      const invite = phone.request('INVITE', `${rig.uri('bob')};line=4`, {}, SDP);
      const ok = await phone.expect(/ 200 /);
      assert.deepEqual(Object.fromEntries(asked ?? []), {
        ...{ method: 'INVITE', domain: '127.0.0.1', protocol: 'udp', source_address: '127.0.0.1', fromUser: 'alice' },
        ...{
          toUser: 'bob',
          uriUser: 'bob',
          contentType: 'application/sdp',
          uri: `${rig.uri('bob')};line=4`,
          line: '4',
        },
      });
      phone.inDialog('ACK', invite, ok, 1);
      phone.inDialog('BYE', invite, ok, 2);
      await phone.expect(/ 200 /);
      assert.deepEqual(ended, [invite.get('Call-ID')]);
      await rig.comesToHold({ apps: 0, dialogs: 0 });
    },
  );

  engineOnly(WHY, 'an address in the settings is connected to without asking', async () => {
    const heard = await answerTo('MESSAGE', 'never asked');
    assert.match(heard.start, / 404 /); // of the library: no handler
    assert.equal(asked, undefined);
  });

  engineOnly(WHY, 'an application with the tag gets the request, one without it does not', async () => {
    const other = await rig.app(client => client.use('options', (_request, response) => response.send(405)));
    const tagged = new Srf('blue') as unknown as Client;
    tagged.on('error', () => undefined);
    tagged.options((_request, response) => response.send(200));
    tagged.connect({ host: '127.0.0.1', port: rig.server.adminPort, secret: rig.secret });
    await next(tagged, 'connect');
    for (let turn = 0; turn < 3; turn++)
      assert.match((await answerTo('OPTIONS', { action: 'route', data: { tag: 'blue' } })).start, / 200 /);
    assert.match((await answerTo('OPTIONS', { action: 'route', data: { tag: 'red' } })).start, / 480 /);
    tagged.disconnect();
    rig.lose(other);
  });

  const NOWHERE = { action: 'route', data: { uri: '127.0.0.1:1' } };
  const orders: [title: string, method: string, said: unknown, status: number][] = [
    ['a refusal is passed on', 'INVITE', { action: 'reject', data: { status: 404, reason: 'Nobody Here' } }, 404],
    ['a redirection is passed on', 'INVITE', { action: 'redirect', data: { contact: 'sip:x@example.com' } }, 302],
    ['an application that cannot be reached makes 480', 'INVITE', NOWHERE, 480],
    ['no JSON makes 500', 'INVITE', 'no', 500],
    ['an order nobody knows makes 500', 'OPTIONS', { action: 'dance', data: {} }, 500],
    ['a status that is none makes 500', 'OPTIONS', { action: 'reject', data: { status: 200 } }, 500],
    ['a proxy without destination makes 500', 'OPTIONS', { action: 'proxy', data: {} }, 500],
    ['a flood in place of an order makes 500', 'OPTIONS', 'x'.repeat(100_000), 500],
  ];
  for (const [title, method, said, status] of orders)
    engineOnly(WHY, title, async () => {
      const heard = await answerTo(method, said);
      assert.equal(Number(heard.start.split(' ')[1]), status);
      if (status === 404) assert.equal(heard.start, 'SIP/2.0 404 Nobody Here');
      if (status === 302) assert.equal(heard.get('Contact'), '<sip:x@example.com>');
    });

  engineOnly(WHY, 'a request is handed on to where the order says', async () => {
    const bob = await rig.phone();
    order = { action: 'proxy', data: { destination: [`sip:bob@127.0.0.1:${bob.port}`], recordRoute: true } };
    phone.request('OPTIONS', rig.uri());
    const heard = await bob.expect(/^OPTIONS/);
    assert.match(heard.get('Record-Route'), new RegExp(`:${rig.server.port};lr`));
    bob.answer(heard, '200 OK');
    await phone.expect(/ 200 /);
  });

  engineOnly(WHY, 'a caller who gives up while the way is asked for hears 487, and nobody is called', async () => {
    const held = createServer().listen(0, '127.0.0.1');
    await once(held, 'listening');
    const slow = await Rig.start({ requestHandlers: { invite: `http://127.0.0.1:${portOf(held)}` } });
    const caller = await slow.phone();
    const invite = caller.request('INVITE', slow.uri(), {}, SDP);
    const [, answer] = (await once(held, 'request')) as [unknown, { end(text: string): void }];
    caller.companion('CANCEL', invite);
    caller.companion('ACK', invite, (await caller.expect(/ 487 /)).get('To'));
    answer.end(JSON.stringify({ action: 'route', data: { uri: `127.0.0.1:${portOf(waiting)}` } }));
    await slow.comesToHold({ dialogs: 0, apps: 0 });
    await slow.close();
    held.close();
  });
});

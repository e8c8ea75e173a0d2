import { strict as assert } from 'node:assert';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { Line, settled } from './line.ts';
import { SDP, type Heard, type Peer } from './peer.ts';
import type { Call, Client, Request, Response } from './rig.ts';

const require = createRequire(import.meta.url);

type Options = Record<string, unknown>;
type Handler = (request: WholeRequest, response: WholeResponse, next: () => void) => void;
type Verb = (handler: Handler) => void;

interface Message {
  meta: { source: string; protocol: string; dialogId?: string };
  type: string;
  raw: string;
  payload: { type: string | null; content: string }[];
  has(name: string): boolean;
  get(name: string): string;
  set(name: string, value: string): void;
  getHeaderName(name: string): string;
  getParsedHeader(name: string): { uri: string; params: Record<string, string> };
}
interface WholeRequest extends Request, Message {
  res: WholeResponse;
  user?: unknown;
  isNewInvite: boolean;
  callingNumber: string;
  callingName: string;
  calledNumber: string;
  canFormDialog: boolean;
  proxy(options: object): Promise<{ connected: boolean; finalStatus: number }>;
  logIn(user: string, options: object): void;
  logOut(): void;
  isAuthenticated(): boolean;
  isUnauthenticated(): boolean;
}
interface WholeResponse extends Omit<Response, 'get'>, Message {
  req: WholeRequest;
  reason: string;
  statusCode: number;
  finalResponseSent: boolean;
  headersSent: boolean;
  stackDialogId: string;
  end(text: string): void;
  toJSON(): object;
  getHeader(name: string): string;
  setHeader(name: string, value: string): void;
  removeHeader(name: string): void;
  sendAck(dialogId: string, options: object, done: () => void): void;
  sendPrack(dialogId: string, options: object, done: () => void): void;
}
interface WholeCall extends Call, Record<string, unknown> {
  dialogType: string;
  subscribeEvent: string | null;
  queueRequests: boolean;
  stateEmitter: { emitter: EventEmitter; state: object };
  toJSON(): { type: string; onHold: boolean };
  addSubscription(request: unknown): number;
  removeSubscription(uri: string, event: string): number;
  getCountOfSubscriptions(): number;
}
interface Whole extends Omit<Client, 'options' | 'register' | 'invite'> {
  idle: boolean;
  locals: Options;
  createB2BUA: (...given: unknown[]) => Promise<{ uas: Call; uac: Call }>;
  findDialogById(id: string): Call | undefined;
  findDialogByCallIDAndFromTag(callId: string, tag: string): Call | undefined;
  addDialog(call: Call): void;
  removeDialog(call: Call): void;
  unregisterForMessages(verb: string): void;
  reregisterForMessages(verb: string): void;
  set(name: string, value: unknown): void;
  get(name: string): unknown;
  info: Verb;
  subscribe: Verb;
  options: Verb;
  message: Verb;
  notify: Verb;
  publish: Verb;
  refer: Verb;
  register: Verb;
  bye: Verb;
  ack: Verb;
  prack: Verb;
  update: Verb;
  cancel: Verb;
}

const APART = ['info', 'subscribe', 'options', 'message', 'notify', 'publish', 'refer', 'register'] as const;

describe('every method of drachtio-srf', () => {
  let line: Line;
  let app: Whole;
  let phone: Peer;

  before(async () => {
    line = await Line.open({}, client => {
      const whole = client as unknown as Whole;
      for (const verb of APART)
        whole[verb]((request, response) => response.send(200, { headers: { 'X-Verb': request.method } }));
      // These belong to dialogs, where the library hands them on itself.
      for (const verb of ['bye', 'ack', 'prack', 'update', 'cancel'] as const)
        whole[verb]((_request, _response, on) => on());
    });
    app = line.app as unknown as Whole;
    phone = await line.rig.phone();
  });
  after(() => line.close());

  it('is in one of these tests', () => {
    const folder = new URL('./', import.meta.url);
    const tests = readdirSync(folder).filter(name => name.endsWith('.ts'));
    const text = tests.map(name => readFileSync(new URL(name, folder), 'utf8')).join('\n');
    for (const part of ['srf', 'dialog', 'request', 'response']) {
      const { prototype } = require(`drachtio-srf/lib/${part}`) as { prototype: object };
      const methods = Object.getOwnPropertyNames(prototype).filter(
        name => !/^_|^constructor$|^agent$|^url$/.test(name),
      );
      assert.ok(methods.length > 8);
      const missing = methods.filter(name => !new RegExp(`[.']${name}\\b`).test(text));
      assert.deepEqual(missing, [], part);
    }
  });

  for (const verb of APART) {
    const title = `the handler of ${verb} answers a ${verb.toUpperCase()} outside a dialog`;
    const test = async (): Promise<void> => {
      phone.request(verb.toUpperCase(), line.rig.uri(), { Event: 'presence' });
      const heard = await phone.expect(/ 200 /);
      assert.equal(heard.get('X-Verb'), verb.toUpperCase());
    };
    if (verb === 'refer') engineOnly('drachtio-server says nothing to it', title, test);
    else it(title, test);
  }

  it('a verb that was taken away is not heard, and given back it is', async () => {
    const ask = async (): Promise<string> => {
      phone.request('OPTIONS', line.rig.uri());
      return (await phone.expect(/^SIP/)).start;
    };
    app.unregisterForMessages('options');
    await app.request(`sip:x@127.0.0.1:${phone.port}`, { method: 'OPTIONS' }); // its OK comes behind that of the verb
    phone.answer(await phone.expect(/^OPTIONS/), '200 OK');
    assert.match(await ask(), / 503 /);
    app.reregisterForMessages('options');
    await app.request(`sip:x@127.0.0.1:${phone.port}`, { method: 'OPTIONS' });
    phone.answer(await phone.expect(/^OPTIONS/), '200 OK');
    assert.match(await ask(), / 200 /);
  });

  it('a request and its response tell what they are', async () => {
    const tested = once(app, 'tested') as Promise<[WholeRequest, WholeResponse]>;
    line.handle = (given, answer) => {
      const request = given as WholeRequest;
      const response = answer as WholeResponse;
      request.res = response;
      response.setHeader('X-Set', 'one');
      response.removeHeader('X-Set'); // as in Express, and without effect
      response.statusCode = 480;
      assert.deepEqual(
        [response.getHeader('X-Set'), response.finalResponseSent, response.headersSent],
        ['one', false, false],
      );
      response.end('Not Now');
      app.emit('tested', request, response);
    };
    const invite = phone.request('INVITE', line.rig.uri('+123'), { From: '"Al" <sip:555@127.0.0.1>;tag=a1' }, SDP);
    const [request, response] = await tested;
    const refused = await phone.expect(/ 480 /);
    phone.companion('ACK', invite, refused.get('To'));
    assert.equal(refused.get('X-Set'), 'one');
    assert.deepEqual([request.isNewInvite, request.canFormDialog, request.type], [true, true, 'request']);
    assert.deepEqual([request.callingNumber, request.callingName, request.calledNumber], ['555', 'Al', '+123']);
    assert.deepEqual(
      [request.meta.source, request.meta.protocol, request.res.req === request],
      ['network', 'udp', true],
    );
    assert.match(request.raw, /^INVITE sip:\+123@/);
    assert.equal(request.payload[0]?.content, SDP);
    assert.deepEqual([request.has('max-forwards'), request.getHeaderName('call-id')], [true, 'call-id']);
    assert.equal(request.getParsedHeader('from').params['tag'], 'a1');
    request.set('X-Seen', 'yes');
    assert.equal(request.get('X-Seen'), 'yes');
    assert.deepEqual([response.finalResponseSent, response.headersSent, response.reason], [true, true, 'Not Now']);
    assert.deepEqual([response.type, Object.keys(response.toJSON()).includes('msg')], ['response', true]);
    assert.equal(request.isUnauthenticated(), true);
    request.logIn('al', { session: false });
    assert.deepEqual([request.isAuthenticated(), request.user], [true, 'al']);
    request.logOut();
    assert.equal(request.isAuthenticated(), false);
    line.handle = (given, answer) => line.answer(given, answer);
  });

  it('a request is proxied by its own method', async () => {
    const bob = await line.rig.phone();
    const proxied = new Promise<{ connected: boolean; finalStatus: number }>((resolve, reject) => {
      line.handle = given =>
        void (given as WholeRequest)
          .proxy({ destination: `sip:bob@127.0.0.1:${bob.port}`, remainInDialog: false })
          .then(resolve, reject);
    });
    const invite = phone.request('INVITE', line.rig.uri(), {}, SDP);
    bob.answer(await bob.expect(/^INVITE/), '486 Busy Here');
    await bob.expect(/^ACK/);
    phone.companion('ACK', invite, (await phone.expect(/ 486 /)).get('To'));
    const { connected, finalStatus } = await proxied;
    assert.deepEqual([connected, finalStatus], [false, 486]);
    line.handle = (given, answer) => line.answer(given, answer);
  });

  it('an INVITE that is sent by hand is confirmed and acknowledged by hand', async () => {
    const bob = await line.rig.phone();
    const responses: WholeResponse[] = [];
    const sent = (await app.request(`sip:bob@127.0.0.1:${bob.port}`, { method: 'INVITE', body: SDP })) as WholeRequest;
    sent.on('response', (response: WholeResponse) => responses.push(response));
    const invite = await bob.expect(/^INVITE/);
    bob.answer(invite, '183 Session Progress', { Require: '100rel', RSeq: '7' }, SDP);
    await settled('the 183', () => responses.length === 1);
    const [ringing] = responses;
    assert(ringing);
    await new Promise<void>(resolve => ringing.sendPrack(ringing.stackDialogId, {}, resolve));
    const prack = await bob.expect(/^PRACK/);
    assert.equal(prack.get('RAck'), `7 ${invite.get('CSeq')}`);
    bob.answer(prack, '200 OK');
    bob.answer(invite, '200 OK', {}, SDP);
    await settled('the 200', () => responses.length === 2);
    const [, ok] = responses;
    assert(ok);
    await new Promise<void>(resolve => ok.sendAck(ok.stackDialogId, {}, resolve));
    await bob.expect(/^ACK/);
    Line.back(bob, 'BYE', invite, 1);
    await bob.expect(/^SIP/);
  });

  it('every verb reaches the phone inside a dialog, and its answer comes back', async () => {
    const { call } = await line.calling(phone);
    const dialog = call as WholeCall;
    // The library has a method of each verb's name as well, which fails before it says anything (`this` of an arrow function).
    const ask = (verb: string, more: Options = {}): Promise<Response> =>
      dialog.request({ method: verb.toUpperCase(), headers: { Event: 'x', 'Refer-To': 'sip:x@example.com' }, ...more });
    // drachtio-server sends a PRACK by itself alone.
    for (const verb of [...APART, 'update', ...(ownServers() ? [] : ['prack'])]) {
      const answered = ask(verb);
      phone.answer(await phone.expect(new RegExp(`^${verb.toUpperCase()} `)), '202 Accepted');
      assert.equal((await answered).status, 202, verb);
    }
    const again = ask('invite', { body: SDP, headers: {} });
    phone.answer(await phone.expect(/^INVITE/), '200 OK', {}, SDP);
    assert.equal((await again).status, 200);
    await phone.expect(/^ACK/);
    assert.deepEqual([dialog.dialogType, dialog.subscribeEvent], ['INVITE', null]);
    assert.deepEqual([dialog.toJSON().type, dialog.toJSON().onHold], ['uac', false]);
    const ended = ask('bye');
    phone.answer(await phone.expect(/^BYE/), '200 OK');
    assert.equal((await ended).status, 200);
    phone.heard.splice(0);
  });

  it('a dialog is found by its id, and by Call-ID and tag, as long as it is kept', async () => {
    const { invite, call } = await line.calling(phone);
    const tag = /tag=(\S+)/.exec(invite.get('From'))?.[1] ?? '';
    assert.equal(app.findDialogById(call.id), call);
    assert.equal(app.findDialogByCallIDAndFromTag(invite.get('Call-ID'), tag), call);
    app.removeDialog(call);
    assert.equal(app.findDialogById(call.id), undefined);
    app.addDialog(call);
    const state = new EventEmitter();
    const changed = once(state, 'stateChange');
    (call as WholeCall).stateEmitter = { emitter: state, state: { state: 'confirmed' } };
    await line.hangUp(phone, call);
    assert.deepEqual(await changed, [{ state: 'terminated' }]);
    await settled('nothing to be open', () => app.idle);
    app.set('colour', 'blue');
    assert.deepEqual([app.get('colour'), typeof app.locals], ['blue', 'object']);
  });

  it('requests inside a dialog are kept while it queues them', async () => {
    const { invite, call } = await line.calling(phone);
    const dialog = call as WholeCall;
    const infos: string[] = [];
    dialog.on('info', (request: Request, response: Response) => {
      infos.push(request.body);
      response.send(200);
    });
    dialog.queueRequests = true;
    Line.back(phone, 'INFO', invite, 1, { 'Content-Type': 'text/plain' }, 'one');
    await settled('the INFO', () => (dialog['queuedRequests'] as unknown[]).length === 1);
    assert.deepEqual(infos, []);
    dialog.queueRequests = false;
    await phone.expect(/ 200 /);
    assert.deepEqual(infos, ['one']);
    assert.equal(dialog.addSubscription(dialog['req']), 1);
    assert.equal(dialog.getCountOfSubscriptions(), 1);
    const { uri } = (dialog['req'] as WholeRequest).getParsedHeader('To');
    assert.equal(dialog.removeSubscription(uri, (dialog['req'] as WholeRequest).get('Event')), 0);
    await line.hangUp(phone, call);
  });

  it('two calls become one by createB2BUA, and a hang-up on one side ends the other', async () => {
    const bob = await line.rig.phone();
    line.handle = (request, response) => {
      void app
        .createB2BUA(request, response, `sip:bob@127.0.0.1:${bob.port}`, { localSdpB: request.body })
        .then(({ uas, uac }) => {
          uas.on('destroy', () => void uac.destroy());
        });
    };
    const invite = phone.request('INVITE', line.rig.uri(), {}, SDP);
    const outgoing = await bob.expect(/^INVITE/);
    bob.answer(outgoing, '200 OK', {}, SDP);
    const ok: Heard = await phone.expect(/ 200 /);
    await bob.expect(/^ACK/);
    phone.inDialog('ACK', invite, ok, 1);
    assert.equal(ok.body, SDP);
    phone.inDialog('BYE', invite, ok, 2);
    bob.answer(await bob.expect(/^BYE/), '200 OK');
    await phone.expect(/ 200 /);
    line.handle = (request, response) => line.answer(request, response);
  });
});
